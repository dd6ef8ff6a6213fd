"""Network namespaces without a name, and being inside one: it is the calling thread that is."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from chord.errors import LocalProtocolError

OWN = "/proc/thread-self/ns/net"

_CLONE_NEWNET = 0x4000_0000
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def entered(space: int | str) -> Iterator[None]:
    """Be inside the namespace of a descriptor or path: what is started meanwhile stays there.

    ZeroMQ contexts that connect meanwhile stay there too. Raises LocalProtocolError, FileNotFoundError.
    """
    outside = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if isinstance(space, str):
            there = os.open(space, os.O_RDONLY | os.O_CLOEXEC)
            try:
                _enter(there)
            finally:
                os.close(there)
        else:
            _enter(space)
        yield
    finally:
        _enter(outside)
        os.close(outside)


def new_space() -> int:
    """A descriptor of a new network namespace, which no process is in."""
    outside = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.unshare(_CLONE_NEWNET) != 0:
            why = os.strerror(ctypes.get_errno())
            raise LocalProtocolError(f"this machine makes no network namespace: {why}; a container may forbid it")
        made = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
        _enter(outside)
        return made
    finally:
        os.close(outside)


def _enter(space: int) -> None:
    if _libc.setns(space, _CLONE_NEWNET) != 0:
        raise LocalProtocolError(f"cannot enter a network namespace: {os.strerror(ctypes.get_errno())}")
