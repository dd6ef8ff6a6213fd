"""The exit codes of `python -m sim`."""

from __future__ import annotations

UNSAFE = FAILED = 1
"""Something happened that must never happen, or the command itself failed."""

USAGE = 2
NOT_CONVERGED = INCOMPLETE = 3
"""Something that has to happen did not within its time, or a walk was left before it had seen everything."""

INTERRUPTED = 130
NOBODY_READS = 141
"""Standard output is a pipe whose reader has had enough, as of `| head -1`: 128 and the number of SIGPIPE."""

TERMINATED = 143
"""128 and the number of SIGTERM."""


class Terminated(BaseException):
    """SIGTERM came. Whatever goes on ends as after Ctrl-C, and says nothing."""
