"""A lookup that did not go straight through the node first asked is asked again, by a client without a past."""

from __future__ import annotations

from chord.errors import LookupFailed
from chord.lookup import Walk
from chord.messages import Pointer
from chord.trace import HopTrace
from experiments.overlay.judged import place_of
from experiments.overlay.same_ring import TRIES, Asker

FIRST, OTHER = Pointer(1, "a:1", 1), Pointer(9, "b:1", 1)


def walk(*path: Pointer, timed_out: bool = False) -> Walk:
    exchanges = [HopTrace(each.id, each.address, 1, timed_out) for each in path]
    return Walk(5, list(path), exchanges, owner=OTHER)


class Answers:
    """Stands for a ring that gives these answers, one after the other, to whichever client asks."""

    def __init__(self, *answers: Walk | LookupFailed) -> None:
        self.left = list(answers)
        self.closed = 0

    def lookup(self, _name: str) -> Walk:
        answer = self.left.pop(0)
        if isinstance(answer, LookupFailed):
            raise answer
        return answer

    def close(self) -> None:
        self.closed += 1


def asker(ring: Answers) -> Asker:
    return Asker(FIRST.address, lambda _life: ring, pause_s=0.0)


def test_a_straight_lookup_is_asked_once():
    """And the client stays."""
    ring = Answers(walk(FIRST, OTHER))
    way = asker(ring).look_up("n")

    assert (way.path, way.owner, way.asked, ring.closed) == ([place_of(FIRST), place_of(OTHER)], place_of(OTHER), 1, 0)


def test_one_with_a_time_out_or_from_another_node_or_that_failed_is_asked_again():
    """Each time by another client; the last answer counts."""
    ring = Answers(walk(FIRST, timed_out=True), walk(OTHER), LookupFailed("no way"), walk(FIRST, OTHER))
    client = asker(ring)
    way = client.look_up("n")

    assert (way.path, way.error, way.asked) == ([place_of(FIRST), place_of(OTHER)], "", 4)
    assert (ring.closed, client.lives) == (3, 4)


def test_one_that_never_goes_straight_is_told_as_it_is():
    """It is not asked for ever, nor left out."""
    way = asker(Answers(*[LookupFailed("no way")] * TRIES)).look_up("n")

    assert (way.error, way.path, way.asked, way.hops) == ("no way", [], TRIES, 0)
