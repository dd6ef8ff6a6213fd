"""A walk along the ring among members that are dead or refuse, and whether what its members say fits together."""

from __future__ import annotations

import pytest

from chord.errors import Busy, LookupFailed, PeerUnreachable
from chord.kernel import Kernel
from chord.messages import GetNeighbours, Neighbours, Pointer
from chord.views import first_members, is_consistent, ring_walk
from tests.unit.chord.worlds import World, boot, client, pointer, scripted

ONE, TWO, THREE = pointer(100), pointer(200), pointer(300)


def view(member: Pointer, predecessor: Pointer | None, *successors: Pointer) -> Neighbours:
    return Neighbours(member, predecessor, successors, False)


def peer(world: World, answer: Neighbours) -> list:
    return scripted(world, answer.member.address, lambda _request: answer)


@pytest.fixture
def asker(world) -> Kernel:
    kernel, _ = client(world, boot(world, [900]))
    return kernel


def test_a_walk_goes_round_once(world, asker):
    """From the member that is asked first, in the order of the successors; it only looks."""
    views = [view(ONE, THREE, TWO, THREE), view(TWO, ONE, THREE), view(THREE, TWO, ONE)]
    asked = [peer(world, each) for each in views]

    assert world.finish(asker, ring_walk(TWO)) == [views[1], views[2], views[0]]
    assert [request.body for request in asked[0]] == [GetNeighbours(observe=True)]


def test_a_successor_that_is_dead_or_refuses_is_passed_over(world, asker):
    """The next of the same list is asked; one process that is silent is not asked for its other members."""
    silent = [pointer(identifier, "silent:1") for identifier in (120, 140)]
    quiet = scripted(world, "silent:1", lambda _request: None)
    scripted(world, TWO.address, lambda _request: Busy("joining"))
    peer(world, view(ONE, THREE, *silent, TWO, THREE))
    peer(world, view(THREE, TWO, ONE))

    assert [each.member for each in world.finish(asker, ring_walk(ONE))] == [ONE, THREE]
    assert len(quiet) == 2  # once, and once more with twice the time-out


def test_a_walk_that_cannot_begin_says_why(world, asker):
    """There is nobody else to ask."""
    with pytest.raises(PeerUnreachable, match=f"no reply from {ONE.address}"):
        world.finish(asker, ring_walk(ONE))


def test_a_walk_that_does_not_come_round_is_given_up(world, asker, monkeypatch):
    """Somebody invents a successor each time."""
    monkeypatch.setattr("chord.views.WALK_AT_MOST", 10)
    count = 0

    def answer(_request) -> Neighbours:
        nonlocal count
        count += 1
        return view(pointer(count, "liar:1"), None, pointer(count + 1, "liar:1"))

    scripted(world, "liar:1", answer)

    with pytest.raises(LookupFailed, match="did not come round in 10 members"):
        world.finish(asker, ring_walk(pointer(0, "liar:1")))


@pytest.mark.parametrize(
    ("views", "consistent"),
    [
        ([view(ONE, None)], True),
        ([view(ONE, None, TWO)], False),
        ([view(ONE, TWO, TWO), view(TWO, ONE, ONE)], True),
        ([view(ONE, TWO, TWO), view(TWO, ONE)], False),
        ([view(ONE, TWO, TWO), view(TWO, None, ONE)], False),
        ([view(ONE, THREE, TWO), view(TWO, ONE, THREE), view(THREE, TWO, ONE)], True),
        ([view(ONE, THREE, TWO), view(TWO, ONE, ONE), view(THREE, TWO, ONE)], False),
        ([view(ONE, TWO, TWO), view(TWO, ONE, THREE), view(THREE, TWO, ONE)], False),
        ([view(ONE, TWO, THREE), view(THREE, ONE, TWO), view(TWO, THREE, ONE)], False),
    ],
)
def test_views_agree_when_each_member_lies_between_its_neighbours(views, consistent):
    """Its successor is the next of the walk, and that one's predecessor is it; who is alone has no successor.

    A walk that passes key 0 twice fits nobody, whatever its members agree on.
    """
    assert is_consistent(views) is consistent


@pytest.mark.parametrize(
    ("views", "firsts"),
    [
        ([view(ONE, None)], [ONE]),
        ([view(TWO, ONE, THREE), view(THREE, TWO, ONE), view(ONE, THREE, TWO)], [ONE]),
        ([view(TWO, THREE, ONE), view(ONE, TWO, THREE), view(THREE, ONE, TWO)], [TWO, ONE]),
        ([view(ONE, TWO, THREE), view(THREE, ONE, TWO), view(TWO, THREE, ONE)], [ONE, TWO]),
        ([view(ONE, None, THREE), view(THREE, TWO, TWO), view(TWO, THREE, THREE)], [ONE]),
        ([view(TWO, None, THREE), view(THREE, ONE, ONE), view(ONE, THREE, THREE)], [TWO]),
    ],
)
def test_a_turn_ends_where_identifiers_descend(views, firsts):
    """A member that the ring does not lead to is not on it, and no turn ends before or after it."""
    assert first_members(views) == firsts
