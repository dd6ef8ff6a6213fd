"""`python -m experiments` as a process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def started(*arguments: str, temporary: Path) -> Iterator[subprocess.Popen[str]]:
    """A command, with a folder of its own for temporary files; killed if it has not ended."""
    temporary.mkdir(exist_ok=True)
    with subprocess.Popen(
        [sys.executable, "-m", "experiments", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def complaints(stderr: str) -> str:
    """What a sweep says on standard error, but for how far it is, which a slow machine has it say."""
    lines = stderr.splitlines(keepends=True)
    return "".join(line for line in lines if not re.match(r"\d+ of \d+ cells[,;] ", line))
