"""Which version of the code runs, for run.json."""

from __future__ import annotations

import subprocess
from pathlib import Path

DIRTY = "-dirty"
UNKNOWN = "unknown"
DESCRIBE = ("git", "describe", "--always", f"--dirty={DIRTY}", "--abbrev=40", "--exclude", "*")
"""The commit in full, whatever tags there are; `-dirty` behind it when a file of it was edited."""


def checked_out(here: Path = Path(__file__).parent) -> str:
    """The commit of this checkout, with `-dirty` if it was edited since, or `unknown` outside one."""
    try:
        answer = subprocess.run(DESCRIBE, cwd=here, capture_output=True, text=True, check=False)
    except OSError:
        return UNKNOWN
    return answer.stdout.strip() or UNKNOWN


def names_the_code(version: str) -> bool:
    """Whether all that is of this version ran the same code."""
    return version != UNKNOWN and not version.endswith(DIRTY)
