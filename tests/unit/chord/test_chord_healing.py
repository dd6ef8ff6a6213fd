"""What heals: a ring whose members all agree with their neighbours, and that is wound around key 0 twice."""

from __future__ import annotations

from dataclasses import replace

from chord.host import Host
from chord.messages import Pointer
from chord.settings import Settings
from chord.views import is_consistent, ring_walk
from sim.checks import ideal_ring
from tests.unit.chord.worlds import SPACE, World, boot

IDENTIFIERS = [100, 200, 300, 400, 500, 600, 700, 800]
SETTINGS = Settings(space=SPACE, successors=3, failures=2)


def members(hosts: list[Host]) -> list[Pointer]:
    return [one.members[0].me for one in hosts]


def wind(hosts: list[Host]) -> None:
    """Every other one, and then the rest: each the successor of the one before, with lists to match."""
    row = hosts[::2] + hosts[1::2]
    for at, one in enumerate(row):
        member = one.members[0]
        following = members(row[at + 1 :] + row[:at])
        member.state = replace(member.state, successors=tuple(following[:3]), whole=False, predecessor=following[-1])
        for other in members(hosts):
            one.lost.add(other, one.kernel.now)


def walk(world: World, one: Host) -> tuple[list[int], bool]:
    views = world.finish(one.kernel, ring_walk(one.members[0].me))
    return [view.member.id for view in views], is_consistent(views)


def test_a_ring_that_is_wound_twice_becomes_ordered(world):
    """Stabilizing changes nothing in it; the members of the turn whose first one is higher join the other turn."""
    hosts = boot(world, IDENTIFIERS, SETTINGS)
    wind(hosts)
    assert walk(world, hosts[0]) == (IDENTIFIERS[::2] + IDENTIFIERS[1::2], False)

    assert world.run(lambda: ideal_ring([one.members[0] for one in hosts]) == [], 60.0)

    assert walk(world, hosts[0]) == (IDENTIFIERS, True)
