"""Which commit runs, for run.json."""

from __future__ import annotations

import subprocess
from pathlib import Path


def checked_out() -> str:
    """The commit of this checkout, or `unknown` outside one."""
    here = Path(__file__).parent
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return answer.stdout.strip() or "unknown"
