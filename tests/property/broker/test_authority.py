"""Whatever a zone looks like: one broker campaigns at the most, epochs rise by one, in sync is who was in sync."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.authority import Campaign, Contender, Follow, Lead, Wait, decide, prevailing
from broker.zone_state import Candidate, ZoneState

BROKERS = tuple("abcdef")
A, B, C = BROKERS[:3]


def candidate(broker: str, sequence: int) -> Candidate:
    return Candidate(broker, f"{broker}-{sequence:010d}", sequence)


def contender(broker: str) -> Contender:
    return Contender(broker, f"{broker}:1")


brokers = st.sampled_from(BROKERS)
some = st.frozensets(brokers)
sequences = st.one_of(st.integers(0, 20), st.integers(2**31 - 5, 2**31 - 1), st.integers(-(2**31), 5 - 2**31))
views = st.lists(st.builds(candidate, brokers, sequences), max_size=8, unique_by=lambda each: each.sequence)
states = st.none() | st.builds(
    lambda leader, epoch, others: ZoneState(leader, f"{leader}:1", epoch, tuple(sorted({leader, *others} - {""}))),
    st.sampled_from(["", *BROKERS]),
    st.integers(0, 9),
    some,
)


@given(views, states, some)
def test_at_most_one_campaigns(view, state, suspected):
    """For one view, whoever looks at it: one campaigner at the most, and none while the leader lives unsuspected."""
    live = {each.broker for each in view}

    decisions = {broker: decide(contender(broker), view, state, suspected - {broker}) for broker in BROKERS}
    agreed = {broker: decide(contender(broker), view, state) for broker in BROKERS}

    assert sum(isinstance(each, Campaign) for each in agreed.values()) <= 1
    if state is not None and state.leader in live - suspected:
        assert not any(isinstance(each, Campaign) for each in decisions.values())


@given(views, states)
def test_somebody_campaigns_when_the_leader_is_gone(view, state):
    """A zone in which anybody stands has a leader that lives, or one campaigner: it never waits for ever."""
    live = {each.broker for each in view}

    decisions = [decide(contender(broker), view, state) for broker in BROKERS]

    settled = state is not None and state.leader in live
    assert sum(isinstance(each, Campaign) for each in decisions) == (1 if live and not settled else 0)
    assert sum(isinstance(each, Lead) for each in decisions) == (1 if settled else 0)


@given(views, states, some, brokers)
def test_what_a_campaigner_writes(view, state, suspected, me):
    """Its own name and address, an epoch one higher; of those in sync the ones that live and itself, nobody else."""
    decision = decide(contender(me), view, state, suspected)
    if not isinstance(decision, Campaign):
        return
    live = {each.broker for each in view}
    before = set(state.in_sync) if state else set()
    written = decision.state

    assert (written.leader, written.address) == contender(me)
    assert written.epoch == (state.epoch if state else 0) + 1
    assert me in live
    assert me in written.in_sync
    assert set(written.in_sync) <= (before & (live - suspected)) | {me}
    assert decision.clean == (me in before or not before)
    if me not in before:
        assert written.in_sync == (me,)
        assert not before & live


@given(views, states, some, brokers, st.randoms(use_true_random=False))
def test_the_order_of_the_view_does_not_matter(view, state, suspected, me, chance):
    """ZooKeeper lists children in any order."""
    mixed = list(view)
    chance.shuffle(mixed)

    assert decide(contender(me), mixed, state, suspected) == decide(contender(me), view, state, suspected)


@given(states, states)
def test_epochs_never_fall(read, known):
    """What is gone on from has the later epoch of the two, and no leader when ZooKeeper went back."""
    state = prevailing(read, known)

    assert (state.epoch if state else 0) == max(each.epoch if each else 0 for each in (read, known))
    if state is not None and state != read:
        assert known is not None
        assert (state.leader, state.in_sync) == ("", known.in_sync)


STATE = ZoneState(A, "a:1", 7, (A, B))
VACANT = ZoneState("", "", 7, (A, B))


@pytest.mark.parametrize(
    ("me", "view", "state", "suspected", "expected"),
    [
        (A, [], None, [], Wait()),
        (A, [(A, 1), (B, 0)], None, [], Wait()),
        (B, [(A, 1), (B, 0)], None, [], Campaign(ZoneState(B, "b:1", 1, (B,)), True)),
        (A, [(B, 0), (A, 5)], STATE, [], Lead()),
        (B, [(B, 0), (A, 5)], STATE, [], Follow()),
        (A, [(B, 0)], STATE, [], Wait()),
        (B, [(C, 0), (B, 5)], STATE, [], Campaign(ZoneState(B, "b:1", 8, (B,)), True)),
        (C, [(C, 0), (B, 5)], STATE, [], Wait()),
        (B, [(A, 0), (B, 5)], STATE, [A], Campaign(ZoneState(B, "b:1", 8, (B,)), True)),
        (C, [(A, 0), (C, 5)], STATE, [A], Wait()),
        (C, [(C, 5)], STATE, [], Campaign(ZoneState(C, "c:1", 8, (C,)), False)),
        (A, [(A, 0), (B, 5)], STATE, [A], Lead()),
        (B, [(A, -(2**31)), (B, 2**31 - 1)], VACANT, [], Campaign(ZoneState(B, "b:1", 8, (A, B)), True)),
    ],
    ids=[
        "nobody stands",
        "the first election is the first comer's",
        "and it is clean",
        "the leader stays though it registered anew",
        "others follow it",
        "a leader that is not registered waits",
        "the one in sync campaigns though it came later",
        "and the other waits for it",
        "a suspected leader is succeeded at once",
        "but not by somebody out of sync",
        "who leads when nobody in sync is left, which is not clean",
        "nobody suspects itself",
        "the sequence wrapped around",
    ],
)  # fmt: skip
def test_decisions(me, view, state, suspected, expected):
    """The rules, one by one."""
    candidates = [candidate(broker, sequence) for broker, sequence in view]

    assert decide(contender(me), candidates, state, frozenset(suspected)) == expected
