"""What the runs were made on, in a few words; and the versions of all that took part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MB_A_GB = 1024
VERSIONS = "versions"
Machine = Mapping[str, Any]


def machines(found: Iterable[Machine]) -> list[dict[str, Any]]:
    """Each machine once, as run.json tells it; one whose versions changed between runs comes once for each."""
    known: list[dict[str, Any]] = []
    for machine in found:
        if machine and machine not in known:
            known.append(dict(machine))
    return known


def hardware(machine: Machine) -> str:
    """`AMD EPYC, 2 cores, 24 GB, Linux 6.18`; what a machine does not tell is left out."""
    cores, memory_mb, kernel = machine.get("cores"), machine.get("memory_mb"), machine.get("kernel")
    parts = [
        str(machine.get("cpu") or ""),
        f"{cores} {'core' if cores == 1 else 'cores'}" if cores else "",
        f"{memory_mb / MB_A_GB:,.0f} GB" if isinstance(memory_mb, int) and memory_mb else "",
        f"Linux {'.'.join(str(kernel).split('.')[:2])}" if kernel else "",
    ]
    return ", ".join(part for part in parts if part) or "not recorded"


def versions(found: Iterable[Machine]) -> list[tuple[str, str]]:
    """What took part, and in which version; each of them where runs differ in it."""
    told: dict[str, list[str]] = {}
    for machine in found:
        for name, version in (machine.get(VERSIONS) or {}).items():
            if str(version) not in told.setdefault(name, []):
                told[name].append(str(version))
    return [(name, ", ".join(each)) for name, each in told.items()]
