"""Two rings are the same if each lookup took the same members, as the tables have it, and no pointer differs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chord.identifiers import IdentifierSpace
from experiments.overlay.ideal import ideal_ring
from experiments.overlay.judged import Comparison, Place, Way, differing, judged, same_pointers
from experiments.overlay.routing import Router, entered_at

ADDRESSES = [f"127.0.0.1:{5000 + number}" for number in range(12)]
RING = ideal_ring("c", ADDRESSES, 2, 3)
ASKED = [(f"name-{number}", ADDRESSES[number % 12]) for number in range(24)]


def ways():
    """Of each name, as the tables have it."""
    router = Router(RING)
    found = []
    for name, address in ASKED:
        key = IdentifierSpace().key(name)
        path = router.path(entered_at(RING, router, address, key), key)
        members = [RING.members[at] for at in (*path, router.named_owner(path[-1], key))]
        *passed, owner = (Place(id=member.id, address=member.address) for member in members)
        found.append(Way(path=passed, owner=owner))
    return found


def same(report, tables=(), changed=()):
    """The verdict."""
    return Comparison(
        members=24,
        processes=12,
        successors=3,
        commit="abc",
        real_faults=[],
        tables=list(tables),
        changed=list(changed),
        modes=[report],
    ).same


def other_member(place):
    """Of the same process."""
    (other,) = (each for each in RING.members if each.address == place.address and each.id != place.id)
    return Place(id=other.id, address=place.address)


def test_the_same_ways_are_the_same():
    """Unless pointers differ, or changed meanwhile."""
    report = judged(RING, ASKED, "iterative", ways(), ways())

    assert (report.same_paths, report.different, report.other_hops, report.differences) == (24, 0, 0, [])
    assert report.real == report.simulated == report.by_tables
    assert same(report)
    assert not same(report, tables=["a"])
    assert not same(report, changed=["a"])


def test_another_member_of_the_same_process_is_another_way():
    """With virtual nodes an address says too little."""
    theirs = ways()
    theirs[3] = replace(theirs[3], path=[other_member(theirs[3].path[0]), *theirs[3].path[1:]])
    theirs[4] = replace(theirs[4], owner=other_member(theirs[4].owner))

    report = judged(RING, ASKED, "iterative", ways(), theirs)

    assert (report.same_paths, report.different, report.other_hops) == (22, 2, 0)
    assert [each.name for each in report.differences] == ["name-3", "name-4"]
    assert not same(report)


def test_hops_are_those_of_the_tables_lookup_by_lookup():
    """Two lookups that exchange their hops leave the histogram as it was."""
    found = ways()
    short = next(number for number, way in enumerate(found) if way.hops == 0)
    long = next(number for number, way in enumerate(found) if way.hops > 0)
    found[short], found[long] = found[long], found[short]

    report = judged(RING, ASKED, "iterative", found, found)

    assert report.real == report.simulated == report.by_tables
    assert (report.different, report.other_hops) == (0, 2)
    assert {each.name for each in report.differences} == {f"name-{short}", f"name-{long}"}
    assert not same(report)


def test_a_finger_beyond_the_list_makes_a_difference_and_a_listed_one_none():
    """Lookups are passed on to whoever is known, by whichever table."""
    member = next(each for each in RING.members if set(each.fingers) - set(each.successors))
    beyond = next(each for each in member.fingers if each not in member.successors)
    without = replace(member, fingers=[each for each in member.fingers if each != beyond])
    listed = replace(member, fingers=list(dict.fromkeys([*member.fingers, *member.successors])))
    unlisted = replace(member, fingers=[each for each in member.fingers if each not in member.successors])

    assert not same_pointers(member, without)
    assert same_pointers(member, listed)
    assert same_pointers(member, unlisted)
    assert not same_pointers(member, replace(member, predecessor=beyond))
    assert not same_pointers(member, None)


@pytest.mark.parametrize("gone", [0, 5])
def test_members_that_came_or_went_or_have_other_pointers_are_told(gone):
    """In either of two snapshots."""
    left = replace(RING, members=[each for at, each in enumerate(RING.members) if at != gone])

    assert differing(RING, RING) == []
    assert differing(RING, left) == differing(left, RING) == [RING.members[gone].id]
