"""Two hosts on one switch, as network namespaces of this machine, whose cable can be pulled.

Needs root and `ip`. The namespaces have no names: the kernel removes each with the last process and descriptor in it,
however this process ends. A pulled cable loses packets in silence, while each host's own link stays up.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from chord.errors import LocalProtocolError

SIDES = ("left", "right")
ADDRESSES = {"left": "10.77.0.1", "right": "10.77.0.2"}

_CLONE_NEWNET = 0x4000_0000
_libc = ctypes.CDLL(None, use_errno=True)


class Lan:
    """Use it in a `with` block. `inside(side)`: what is started or connected there belongs to that host."""

    def __init__(self) -> None:
        if shutil.which("ip") is None:
            raise LocalProtocolError("a real split needs `ip`; install iproute2")
        if os.geteuid() != 0:
            raise LocalProtocolError("a real split needs network namespaces, which only root makes; run it as root")
        self._spaces: dict[str, int] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._build()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @contextmanager
    def inside(self, side: str) -> Iterator[None]:
        """Be on a host: processes that are started meanwhile stay there, and so do ZeroMQ contexts that connect."""
        outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(self._spaces[side])
            yield
        finally:
            _enter(outside)
            os.close(outside)

    def cut(self) -> None:
        """Pull the cable between the right host and the switch."""
        self._ip("switch", "link set right-port nomaster")

    def mend(self) -> None:
        """Put it back."""
        self._ip("switch", "link set right-port master switch")

    def _build(self) -> None:
        for name in (*SIDES, "switch"):
            self._spaces[name] = _new_space()
            self._open.callback(os.close, self._spaces[name])
        self._ip("switch", "link add switch type bridge")
        self._ip("switch", "link set switch up")
        for side, address in ADDRESSES.items():
            there = f"/proc/{os.getpid()}/fd/{self._spaces[side]}"
            self._ip("switch", f"link add {side}-port type veth peer name uplink netns {there}")
            self._ip("switch", f"link set {side}-port master switch")
            self._ip("switch", f"link set {side}-port up")
            self._ip(side, "link set lo up")
            self._ip(side, "link set uplink up")
            self._ip(side, f"addr add {address}/24 dev uplink")

    def _ip(self, space: str, command: str) -> None:
        with self.inside(space):
            done = subprocess.run(["ip", *command.split()], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LocalProtocolError(f"`ip {command}` failed on the {space}: {done.stderr.strip()}")


def _new_space() -> int:
    """A descriptor of a new network namespace, which no process is in."""
    outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.unshare(_CLONE_NEWNET) != 0:
            why = os.strerror(ctypes.get_errno())
            raise LocalProtocolError(f"this machine makes no network namespace: {why}; a container may forbid it")
        made = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        _enter(outside)
        return made
    finally:
        os.close(outside)


def _enter(space: int) -> None:
    if _libc.setns(space, _CLONE_NEWNET) != 0:
        raise LocalProtocolError(f"cannot enter a network namespace: {os.strerror(ctypes.get_errno())}")
