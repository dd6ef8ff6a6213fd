"""What the faults of a plan hit on a network: hosts and links by name, found before anything is started."""

from __future__ import annotations

import random
from dataclasses import dataclass

from chord.errors import LocalProtocolError
from experiments.mininet.layout import Layout
from experiments.mininet.seats import Seats
from experiments.sweep.cells import Cell, Fault

PRIMARY = "primary"
"""The host of the primary of the first zone; who that is turns out only when it is to be hit."""

HOSTS = ("kill", "stop", "cont")
LINKS = ("link_down", "link_up")


@dataclass(frozen=True, slots=True)
class Hit:
    """A fault with what it hits: one host (`primary` for that), or some links, each (upper, lower)."""

    fault: Fault
    host: str = ""
    links: tuple[tuple[str, str], ...] = ()


def hits(cell: Cell, seats: Seats, layout: Layout) -> list[Hit]:
    """The faults of a cell in the order of their times. Raises LocalProtocolError for one that hits nothing here."""
    chance = random.Random(cell.seed)
    spared = {seats.nodes[0]} if cell.lookups else set()
    found: list[Hit] = []
    last_split: tuple[tuple[str, str], ...] = ()
    for fault in sorted(cell.faults, key=lambda fault: fault.at_s):
        if fault.kind in HOSTS:
            host = _host(fault, seats, chance, spared)
            if host in spared and fault.kind != "cont":
                raise LocalProtocolError(_why_spared(fault, host, seats))
            if fault.kind == "kill":
                spared.add(host)
            found.append(Hit(fault, host))
        elif fault.kind in LINKS:
            found.append(Hit(fault, links=(_link(fault, seats, layout),)))
        elif fault.kind == "split":
            last_split = cut_off(layout, _share(fault))
            found.append(Hit(fault, links=last_split))
        elif not last_split:
            raise LocalProtocolError("a heal without a split before it")
        else:
            found.append(Hit(fault, links=last_split))
    return found


def _why_spared(fault: Fault, host: str, seats: Seats) -> str:
    if host == seats.nodes[0]:
        return f"{fault.kind} {fault.target}: {host} is where the client asks from; hit another host"
    return f"{fault.kind} {fault.target}: {host} was killed before"


def cut_off(layout: Layout, share: float) -> tuple[tuple[str, str], ...]:
    """The one link whose loss leaves nearest to `share` of the hosts on the far side. Raises LocalProtocolError.

    Hosts that each hang on the only switch cannot be split by cutting one link.
    """
    count = len(layout.hosts)
    between = [link for link in layout.links if link[1] in layout.switches]
    if not between:
        raise LocalProtocolError(
            "a split cuts the link between two switches, and a single switch has none; use linear or tree"
        )
    return (min(between, key=lambda link: abs(len(list(layout.hosts_below(link[1]))) / count - share)),)


def _share(fault: Fault) -> float:
    try:
        share = float(fault.target or "0.5")
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise LocalProtocolError(f"a split names a share of the hosts between 0 and 1, not {fault.target!r}")
    return share


def _host(fault: Fault, seats: Seats, chance: random.Random, spared: set[str]) -> str:
    kind, _, which = fault.target.partition(":")
    roles = seats.roles()
    if fault.target == PRIMARY and seats.brokers:
        return PRIMARY
    if fault.target == "node:*":
        left = [host for host in seats.nodes if host not in spared]
        if left:
            return chance.choice(left)
    elif kind == "host":
        host = which if which.startswith("h") else f"h{which}"
        if host in roles:
            return host
    for host, role in roles.items():
        if role == fault.target:
            return host
    known = ", ".join(dict.fromkeys(role.partition(":")[0] for role in roles.values()))
    raise LocalProtocolError(
        f"{fault.kind} {fault.target!r} hits nobody: name host:N (1 to {len(roles)}), or one of {known} by number "
        "from 0, like node:3"
    )


def _link(fault: Fault, seats: Seats, layout: Layout) -> tuple[str, str]:
    """A link by its two ends, `link:s1-h3`, or that of a host to its switch, `host:3`, `broker:0`."""
    kind, _, which = fault.target.partition(":")
    if kind == "link":
        one, _, other = which.partition("-")
        for link in layout.links:
            if link in ((one, other), (other, one)):
                return link
        raise LocalProtocolError(f"{fault.kind} {fault.target!r}: there is no such link; one is {_example(layout)}")
    host = _host(fault, seats, random.Random(0), set())
    if host == PRIMARY:
        raise LocalProtocolError(f"{fault.kind} primary: name a link or a broker; who is primary is not known before")
    return next(link for link in layout.links if link[1] == host)


def _example(layout: Layout) -> str:
    return "link:{}-{}".format(*layout.links[0])
