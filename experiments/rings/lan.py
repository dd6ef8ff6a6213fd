"""Two hosts on one switch, as network namespaces of this machine, whose cable can be pulled.

Needs root and `ip`. The namespaces have no names: the kernel removes each with the last process and descriptor in it,
however this process ends. A pulled cable loses packets in silence, while each host's own link stays up.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import AbstractContextManager, ExitStack
from typing import Self

from chord.errors import LocalProtocolError
from experiments.rings.namespaces import entered, new_space

SIDES = ("left", "right")
ADDRESSES = {"left": "10.77.0.1", "right": "10.77.0.2"}


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

    def inside(self, side: str) -> AbstractContextManager[None]:
        """Be on a host: processes that are started meanwhile stay there, and so do ZeroMQ contexts that connect."""
        return entered(self._spaces[side])

    def cut(self) -> None:
        """Pull the cable between the right host and the switch."""
        self._ip("switch", "link set right-port nomaster")

    def mend(self) -> None:
        """Put it back."""
        self._ip("switch", "link set right-port master switch")

    def _build(self) -> None:
        for name in (*SIDES, "switch"):
            self._spaces[name] = new_space()
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
