"""The pure transitions of a member's view: chord.md's P1 (full lists), P2 (ordered, no duplicate, no self) and P7.

Her P1 has exactly r entries; here a list holds r or more until it spans enough processes, or every other member.
"""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from chord import ring_state
from chord.messages import Neighbours, Pointer
from chord.ring_state import RingState
from sim.checks import is_full
from tests.strategies import answer, following, ideal, pointer, rings, spaces

lengths = st.integers(1, 5)
spans = st.integers(1, 3)


def same(taken: RingState, wanted: RingState) -> None:
    """The two agree, except that a full list may hold everybody without knowing it."""
    assert taken.successors == wanted.successors
    assert taken.predecessor == wanted.predecessor
    assert taken.whole == wanted.whole or (wanted.whole and is_full(wanted, wanted.successors))


def well_formed(state: RingState) -> None:
    """P2 in full, and P1 from above: ordered from this member on, no duplicate, no self, nothing beyond full."""
    steps = [state.space.distance(state.me.id, one.id) for one in state.successors]
    assert 0 not in steps
    assert steps == sorted(set(steps))
    assert not is_full(state, state.successors[:-1])


@st.composite
def states(draw: st.DrawFn) -> tuple[RingState, list[Pointer]]:
    """A member of an ideal ring, and that ring."""
    space, ring = draw(rings())
    return ideal(space, ring, draw(st.sampled_from(ring)), draw(lengths), draw(spans)), ring


@st.composite
def anything(draw: st.DrawFn) -> tuple[RingState, list[Pointer], bool]:
    """A member, and a row of pointers in whatever order, with repetitions."""
    space = draw(spaces())
    members = [pointer(identifier, identifier % 4) for identifier in range(space.size)]
    state = RingState(draw(st.sampled_from(members)), space, draw(lengths), draw(spans))
    return state, draw(st.lists(st.sampled_from(members), max_size=12)), draw(st.booleans())


@given(anything())
def test_no_answer_makes_a_list_unordered(drawn):
    """Whatever a peer lists, what is taken is a prefix of that, ordered, without duplicates and without self."""
    state, row, closes = drawn

    taken = state.with_list(row, closes)

    well_formed(taken)
    assert list(taken.successors) == row[: len(taken.successors)]
    assert taken.predecessor == state.predecessor


@given(anything())
def test_a_list_is_whole_only_when_somebody_says_so(drawn):
    """A list counts as whole when the row came round to this member, or ended where its sender vouches for the rest."""
    state, row, closes = drawn

    taken = state.with_list(row, closes)

    rest = row[len(taken.successors) :]
    came_round = bool(rest) and rest[0].id == state.me.id
    assert taken.whole == (came_round or (closes and not rest))


@given(states())
def test_the_ideal_state_is_a_fixpoint_of_stabilization(drawn):
    """P7: in an ideal ring the successor's answer changes nothing, and its predecessor is no better successor."""
    state, ring = drawn
    assume(state.successors)
    successor = ideal(state.space, ring, state.successor, state.length, state.others)

    same(ring_state.successor_answered(state, answer(successor)), state)
    assert ring_state.better_successor(state, answer(successor)) is None


@given(states())
def test_a_lost_list_is_ideal_again_after_one_answer(drawn):
    """Whatever a member has lost behind its first successor, that one's answer restores."""
    state, ring = drawn
    assume(state.successors)
    torn = RingState(
        state.me, state.space, state.length, state.others, state.successors[:1], False, predecessor=state.predecessor
    )
    successor = ideal(state.space, ring, state.successor, state.length, state.others)

    same(ring_state.successor_answered(torn, answer(successor)), state)


@given(rings(least=2), st.data())
def test_a_joiner_copies_what_it_needs_from_its_predecessor(drawn, data):
    """Join: with the list of the member it comes after, a joiner's own is ideal at once, small rings included."""
    space, ring = drawn
    me = data.draw(st.sampled_from(ring))
    length, others = data.draw(lengths), data.draw(spans)
    before = [member for member in ring if member != me]
    predecessor = following(ring, me)[-1]
    asked = ideal(space, before, predecessor, length, others)

    state = ring_state.joined(RingState(me, space, length, others), answer(asked))

    well_formed(state)
    assert state.predecessor == predecessor
    wanted = ideal(space, ring, me, length, others)
    assert wanted.successors[: len(state.successors)] == state.successors
    if asked.whole:
        same(state, wanted)
    else:
        # The joiner's own process may be one of those that made the list full, so it can end one process short.
        assert len(state.successors) >= length
        assert len({one.address for one in state.successors} - {me.address}) >= others - 1


@given(states(), st.data())
def test_only_a_closer_candidate_is_adopted(drawn, data):
    """StabilizeFromPredecessor adopts a member that lies between this one and its successor, and no other."""
    state, _ring = drawn
    candidate = pointer(data.draw(st.integers(0, state.space.size - 1)), process=9)
    reach = state.space.distance(state.me.id, state.successor.id) or state.space.size

    adopted = ring_state.candidate_answered(state, Neighbours(candidate, None, state.successors, state.whole))

    well_formed(adopted)
    if 0 < state.space.distance(state.me.id, candidate.id) < reach:
        assert adopted.successor == candidate
    else:
        assert adopted == state


@given(states(), st.data())
def test_a_better_successor_lies_before_the_old_one(drawn, data):
    """The successor's predecessor is worth asking exactly when it lies between this member and that successor."""
    state, ring = drawn
    found = data.draw(st.none() | st.sampled_from(ring) | st.integers(0, state.space.size - 1).map(pointer))
    reach = state.space.distance(state.me.id, state.successor.id) or state.space.size

    better = ring_state.better_successor(state, Neighbours(state.successor, found, (), False))

    closer = found is not None and 0 < state.space.distance(state.me.id, found.id) < reach
    assert better == (found if closer else None)


@given(states(), st.data())
def test_dropping_forgets_one_incarnation_and_skips_nobody(drawn, data):
    """A dead member goes from list and predecessor; everybody else stays in place, and a new incarnation too."""
    state, ring = drawn
    dead = data.draw(st.sampled_from(ring))
    reborn = Pointer(dead.id, dead.address, dead.incarnation + 1)

    without = ring_state.dropped(state, dead)

    well_formed(without)
    assert without.successors == tuple(member for member in state.successors if member != dead)
    assert without.predecessor == (None if state.predecessor == dead else state.predecessor)
    assert without.whole == state.whole
    assert ring_state.dropped(state, reborn) == state


@given(states(), st.data())
def test_a_member_that_loses_its_whole_list_is_isolated_unless_it_knew_everybody(drawn, data):
    """When all listed members die, one whose list was whole is alone, and any other knows that it is isolated."""
    state, _ring = drawn
    left = state
    for dead in data.draw(st.permutations(state.successors)):
        left = ring_state.dropped(left, dead)

    assert left.alone == state.whole
    assert left.isolated == (not state.whole)
    assert left.successor == state.me


@given(states(), st.data())
def test_rectify_adopts_the_closer_notifier(drawn, data):
    """A notifier closer than the predecessor is adopted at once; for a farther one the old must be pinged first."""
    state, _ring = drawn
    notifier = pointer(data.draw(st.integers(0, state.space.size - 1)), process=9)
    old = state.predecessor

    rectified, must_ping = ring_state.rectified(state, notifier)

    if notifier.id == state.me.id:
        assert (rectified, must_ping) == (state, False)
    elif old is None or state.space.distance(notifier.id, state.me.id) <= state.space.distance(old.id, state.me.id):
        assert rectified.predecessor == notifier
        assert not must_ping
    else:
        assert (rectified, must_ping) == (state, True)
    assert rectified.successors == state.successors
    assert ring_state.rectified(rectified, notifier) == (rectified, must_ping)


@given(states(), st.integers(1, 5))
def test_replicas_are_the_next_processes(drawn, count):
    """The replicas of a record are the first members of the list that run in other processes, one of each."""
    state, _ring = drawn

    chosen = ring_state.replicas(state, count)

    addresses = dict.fromkeys(one.address for one in state.successors if one.address != state.me.address)
    assert [one.address for one in chosen] == list(addresses)[: count - 1]
    assert ring_state.processes(state) == 1 + len(addresses)
