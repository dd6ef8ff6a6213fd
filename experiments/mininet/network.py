"""The virtual network itself: Mininet with Linux bridges as switches, built from a layout.

It belongs into a network namespace of its own (experiments/mininet/inside.py), with which all of it ends.
"""

from __future__ import annotations

import subprocess
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from broker.processes import ProcessFailed
from experiments.mininet.layout import Layout, address
from experiments.mininet.requirements import import_mininet
from experiments.mininet.shaping import Shape
from experiments.rings.namespaces import entered


class Network:
    """Built and started once it is made. Raises LocalProtocolError for what the machine or its kernel cannot do."""

    def __init__(self, layout: Layout, shape: Shape) -> None:
        import_mininet()
        from mininet.link import Link, TCLink
        from mininet.log import setLogLevel
        from mininet.net import Mininet
        from mininet.nodelib import LinuxBridge

        setLogLevel("error")
        Mininet.inited = True  # else it changes limits of the whole machine, and leaves them so
        options = shape.options()
        link = partial(TCLink, **options) if options else Link
        self.layout = layout
        self._net: Any = Mininet(switch=LinuxBridge, controller=None, link=link, build=False)
        for name in layout.hosts:
            self._net.addHost(name, ip=f"{address(name)}/8")
        for name in layout.switches:
            self._net.addSwitch(name)
        for upper, lower in layout.links:
            added = self._net.addLink(upper, lower)
            if options:
                _check_shaped(added, shape)
        self._net.build()
        self._net.start()
        self._know_each_other()

    def inside(self, host: str) -> AbstractContextManager[None]:
        """Be on a host: processes that are started meanwhile stay there, and so do ZeroMQ contexts that connect."""
        return entered(f"/proc/{self._net[host].pid}/ns/net")

    def link(self, upper: str, lower: str, up: bool) -> None:
        """Have a link up or down, at both ends."""
        self._net.configLinkStatus(upper, lower, "up" if up else "down")

    def _know_each_other(self) -> None:
        """Tell every host the hardware addresses of the others, as `mn --arp` does.

        The kernel has one table of 1,024 for what all hosts of a machine ask for, and 64 hosts ask for more.
        """
        known = {host: (address(host), self._net[host].MAC()) for host in self.layout.hosts}
        for host in self.layout.hosts:
            lines = "".join(
                f"neigh replace {number} lladdr {hardware} dev {host}-eth0 nud permanent\n"
                for other, (number, hardware) in known.items()
                if other != host
            )
            with self.inside(host):
                done = subprocess.run(["ip", "-batch", "-"], input=lines, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise ProcessFailed(f"{host} does not take the addresses of the others: {done.stderr.strip()}")

    def uplink(self, host: str) -> tuple[str, str]:
        """The link of a host to its switch."""
        return next(link for link in self.layout.links if link[1] == host)


def _check_shaped(link: Any, shape: Shape) -> None:
    """Whether `tc` took what it was told, at both ends: Mininet only logs that it did not. Raises ProcessFailed."""
    for interface in (link.intf1, link.intf2):
        said = interface.tc("%s qdisc show dev %s")
        for discipline in shape.disciplines():
            if discipline not in said:
                raise ProcessFailed(f"the interface {interface.name} did not take {discipline}: `tc` shows {said!r}")
