"""What a process that a test started has started in turn, as /proc tells."""

from __future__ import annotations

from pathlib import Path


def descendants(parent: int) -> list[int]:
    """Every process below `parent`."""
    found: list[int] = []
    for child in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            children = list(map(int, child.read_text().split()))
        except OSError:  # the thread has ended
            continue
        for each in children:
            found += [each, *descendants(each)]
    return found


def command_line(process: int) -> bytes:
    """The arguments of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def alive(process: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False
