"""What a process loads when it imports a module."""

from __future__ import annotations

import subprocess
import sys

from tests.architecture.sources import ROOT

# A ring node starts in a fraction of a second on a Mininet host, without any of these.
HEAVY = frozenset(["kazoo", "matplotlib", "networkx", "numpy", "pandas", "pyarrow", "pyspark"])


def loaded(module: str, among: frozenset[str]) -> list[str]:
    """Which of these packages a fresh interpreter has loaded after it imported the module."""
    program = f"import sys, {module}; print(*sorted(set(sys.argv[1:]) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program, *among], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"import {module} failed: {done.stderr}"
    return done.stdout.split()
