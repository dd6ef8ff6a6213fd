"""What a sweep runs on: the machine, and the versions of all that takes part."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import zmq

PACKAGES = (
    *("ringcast", "pyzmq", "msgspec", "msgpack", "mmh3", "kazoo"),
    *("networkx", "numpy", "numba", "pyarrow", "pyspark", "matplotlib"),
)


def machine() -> dict[str, Any]:
    """Processor, cores that this process may use, memory in MB, kernel."""
    return {
        "cpu": _first("/proc/cpuinfo", r"^model name\s*:\s*(.+)$") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": int(_first("/proc/meminfo", r"^MemTotal:\s*(\d+) kB$") or 0) // 1024,
        "kernel": platform.release(),
    }


def versions() -> dict[str, str]:
    """Python, libzmq and the packages that are installed."""
    found = {"python": platform.python_version(), "libzmq": zmq.zmq_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _first(path: str, pattern: str) -> str | None:
    try:
        found = re.search(pattern, Path(path).read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    except OSError:
        return None
    return found[1].strip() if found else None
