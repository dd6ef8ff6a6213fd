"""What upkeep costs a ring in which nothing happens, and how soon it notices that something does."""

from __future__ import annotations

from collections import Counter

import pytest

from chord.fingers import FingerTable
from chord.member import Member
from chord.messages import ConfirmOwner, NextHop
from chord.ring_state import RingState, listed_owner
from sim.checks import right_owner
from sim.cluster import Cluster, address_of
from sim.ideal import start_ideal
from tests.unit.chord.worlds import SPACE, pointer

SIZE = 256


def right_table(members: list[Member], member: Member) -> list[int]:
    """The identifiers of the fingers as sorting tells them; a start that is the member's own points at nobody."""
    space = member.settings.space
    owners = [right_owner(members, space.finger_start(member.me.id, index)).id for index in range(space.bits)]
    return list(dict.fromkeys(owner for owner in owners if owner != member.me.id))


def table(member: Member) -> list[int]:
    return [finger.id for finger in member.fingers]


def count_requests(cluster: Cluster) -> Counter[type]:
    """What the members of a cluster are asked from now on, by type."""
    counted: Counter[type] = Counter()
    for member in cluster.members():
        for kind, handler in list(member.handlers.items()):

            def counting(body, kind=kind, handler=handler):
                counted[kind] += 1
                return handler(body)

            member.handlers[kind] = counting
    return counted


def test_a_joiner_fills_its_fingers_with_few_lookups():
    """Into a ring of 256: the table is right within log2 N lookups, though it has 64 entries, in a second or two."""
    cluster = Cluster(seed=2)
    start_ideal(cluster, SIZE)
    node = cluster.start(address_of(SIZE), [address_of(7)])
    assert cluster.scheduler.run_until(lambda: node.booted.done, 10.0)
    (member,) = node.host.members
    filled: list[int] = []
    fill = FingerTable.fill

    def counting(self: FingerTable, index: int, owner: object) -> int:
        if self is member.fingers:
            filled.append(index)
        return fill(self, index, owner)  # type: ignore[arg-type]  # as it came

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(FingerTable, "fill", counting)
        done = cluster.scheduler.run_until(
            lambda: table(member) == right_table(cluster.members(), member), at_most_s=4.0
        )

    assert done
    assert len(filled) <= 8 + 4


def test_a_ring_at_rest_looks_nothing_up():
    """Fingers that still own their starts are asked themselves, one exchange each, ever less often."""
    cluster = Cluster(seed=2)
    start_ideal(cluster, 64)
    for node in cluster.nodes.values():
        node.host.lost.bootstrap = []  # whom it would probe for another ring
    cluster.scheduler.run_for(40.0)
    counted = count_requests(cluster)

    cluster.scheduler.run_for(40.0)

    assert counted[NextHop] == 0
    assert 0 < counted[ConfirmOwner] < 64 * 6 * 4


def test_a_dead_finger_is_replaced_soon_after_somebody_ran_into_it():
    """A ring that has refreshed its fingers seldom for long does so at once when its neighbours change or a lookup was
    told to avoid one.
    """
    cluster = Cluster(seed=2)
    start_ideal(cluster, 64)
    cluster.scheduler.run_for(60.0)
    member = cluster.nodes[address_of(0)].host.members[0]
    farthest = list(member.fingers)[-1]
    cluster.crash(farthest.address)
    client = cluster.client()

    for number in range(40):
        client.locate(f"name-{number}", address_of(0))

    assert cluster.scheduler.run_until(
        lambda: table(member) == right_table(cluster.members(), member), 1.2 * member.settings.fingers_s
    )


@pytest.mark.parametrize(
    ("key", "owner"),
    [(101, 200), (200, 200), (201, 300), (300, 300), (301, None), (99, None), (100, 100)],
)
def test_the_list_names_owners_as_far_as_it_reaches(key, owner):
    """From this member to the last entry; beyond it nobody, unless the list is whole and reaches round."""
    state = RingState(pointer(100), SPACE, 8, 3, (pointer(200), pointer(300)), whole=False)

    named = listed_owner(state, key)

    assert (named and named.id) == owner
    whole = RingState(pointer(100), SPACE, 8, 3, (pointer(200), pointer(300)), whole=True)
    assert listed_owner(whole, 301) == pointer(100)
