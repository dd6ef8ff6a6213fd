"""Which hosts, switches and links a topology has; Mininet's names and numbers: h1, h2, ..., s1, s2, ..."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from chord.errors import LocalProtocolError

MOST_HOSTS = 256
MOST_DIGITS = 9
KINDS = "single, linear, or tree[,depth=D,fanout=F]"
_FIRST = ipaddress.ip_address("10.0.0.0")


@dataclass(frozen=True, slots=True)
class Layout:
    """A tree of switches with hosts at its leaves. `links` are (upper, lower): a switch, and what hangs below it."""

    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[tuple[str, str], ...]

    def below(self, switch: str) -> tuple[str, ...]:
        """What hangs on a switch, in order."""
        return tuple(lower for upper, lower in self.links if upper == switch)

    def hosts_below(self, name: str) -> Iterator[str]:
        """The hosts at or below a host or switch, in order."""
        if name in self.hosts:
            yield name
        for each in self.below(name):
            yield from self.hosts_below(each)


def address(host: str) -> str:
    """The address of a host in the virtual network: 10.0.0.1 of h1, and so on."""
    return str(_FIRST + int(host[1:]))


def lay_out(topology: str, hosts: int) -> Layout:
    """The topology that is so called, with so many hosts; those that a tree has room for beyond are left out.

    Raises LocalProtocolError for a name that is none, and for a tree that is too small.
    """
    if not 1 <= hosts <= MOST_HOSTS:
        raise LocalProtocolError(f"a virtual network has 1 to {MOST_HOSTS} hosts, not {hosts}")
    names = tuple(f"h{number}" for number in range(1, hosts + 1))
    kind, *options = topology.split(",")
    if kind == "tree":
        depth, fanout = tree_size(topology, hosts)
        return _tree(names, depth, fanout)
    if options or kind not in ("single", "linear"):
        raise LocalProtocolError(f"{topology!r} is no topology: {KINDS}")
    if kind == "single":
        return Layout(names, ("s1",), tuple(("s1", name) for name in names))
    switches = tuple(f"s{number}" for number in range(1, hosts + 1))
    return Layout(names, switches, (*pairwise(switches), *zip(switches, names, strict=True)))


def tree_size(topology: str, hosts: int | None) -> tuple[int, int]:
    """Depth and fan-out of a tree. What is not said: depth 2, and the least fan-out that has room for the hosts."""
    given = {"depth": 2, "fanout": 0}
    for option in topology.split(",")[1:]:
        name, _, value = option.partition("=")
        if name not in given or not value.isdecimal() or len(value) > MOST_DIGITS or int(value) < 1:
            raise LocalProtocolError(f"{topology!r} is no topology: {KINDS}")
        given[name] = int(value)
    depth, fanout = given["depth"], given["fanout"]
    if not fanout:
        wanted = hosts or 1
        fanout = max(2, math.ceil(wanted ** (1 / depth) - 1e-9))
    if depth > 8 or fanout**depth > 1 << 16:
        raise LocalProtocolError(f"{topology!r} has {fanout}^{depth} places; at most {MOST_HOSTS} hosts are started")
    if hosts is not None and fanout**depth < hosts:
        raise LocalProtocolError(f"{topology!r} has room for {fanout**depth} hosts, not for {hosts}")
    return depth, fanout


def _tree(hosts: tuple[str, ...], depth: int, fanout: int) -> Layout:
    """Numbered depth first, as Mininet's own tree is."""
    switches: list[str] = []
    links: list[tuple[str, str]] = []
    left = iter(hosts)
    count = 0

    def grow(level: int) -> str | None:
        nonlocal count
        if level == 0:
            count += 1
            return next(left, None)
        if count >= len(hosts):
            return None
        name = f"s{len(switches) + 1}"
        switches.append(name)
        for _ in range(fanout):
            lower = grow(level - 1)
            if lower is not None:
                links.append((name, lower))
        return name

    grow(depth)
    return Layout(hosts, tuple(switches), tuple(links))
