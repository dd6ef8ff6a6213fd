"""`python -m sim` as people run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def sim(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end, with these variables beside those that there are."""
    return subprocess.run(
        [sys.executable, "-m", "sim", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
