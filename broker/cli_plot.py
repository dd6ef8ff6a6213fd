"""The option --plot: what can be drawn, and where."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from chord.errors import LocalProtocolError

ENDINGS = (".png", ".svg", ".pdf")


def check_plot(path: Path) -> None:
    """Whether a figure can be drawn at `path` in the end. Raises LocalProtocolError, before anything has begun."""
    if path.suffix.lower() not in ENDINGS:
        raise LocalProtocolError(f"--plot {path} is no figure: its name ends in {', '.join(ENDINGS)}")
    if find_spec("matplotlib") is None:
        raise LocalProtocolError("--plot needs matplotlib, which is not installed: `pip install 'ringcast[analysis]'`")
    if path.is_dir():
        raise LocalProtocolError(f"cannot write {path}: Is a directory")
    if not path.parent.is_dir():
        raise LocalProtocolError(f"cannot write {path}: No such file or directory")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise LocalProtocolError(f"cannot write {path}: Permission denied")
