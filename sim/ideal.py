"""A ring that is ideal from the start: what a study of large rings begins with, joined by nobody."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from chord.effects import Operation
from chord.host import Host
from chord.member import Member
from chord.messages import Pointer
from sim.cluster import Cluster, Node, address_of


def start_ideal(cluster: Cluster, count: int, upkeep: bool = True) -> list[Node]:
    """Start `count` processes whose members form Zave's ideal ring, with every finger right and nothing to hand over.

    The first process is the bootstrap contact of all others. Without `upkeep` nothing goes on at the members.
    """
    nodes = [cluster.place(address_of(number)) for number in range(count)]
    members = sorted((member for node in nodes for member in node.host.members), key=lambda member: member.me.id)
    ring = [member.me for member in members]
    identifiers = [pointer.id for pointer in ring]
    for at, member in enumerate(members):
        _settle(member, at, ring, identifiers)
    for node in nodes:
        node.host.lost.bootstrap = [address_of(0)] if node is not nodes[0] else []
        node.booted.take(None, None)
        if upkeep:
            node.process.start(_upkeep(node.host))
    return nodes


def _settle(member: Member, at: int, ring: Sequence[Pointer], identifiers: Sequence[int]) -> None:
    """Make the member at one place of the sorted ring what joining and stabilizing would have made of it."""
    size = len(ring)
    following = (ring[(at + step) % size] for step in range(1, size + 1))  # the member itself is the last
    state = member.state.with_list(following, closes=True)
    member.state = replace(state, predecessor=ring[at - 1] if size > 1 else None)
    while (due := member.fingers.next_start()) is not None:
        index, start = due
        member.fill_finger(index, ring[bisect_left(identifiers, start) % size])
    member.active = member.attached = member.adopted = True


def _upkeep(host: Host) -> Operation[None]:
    for member in host.members:
        yield from host.keep(member)
    yield from host.tend()
