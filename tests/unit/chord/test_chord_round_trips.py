"""Time-outs follow measured round trips: mean plus four deviations, between a floor and a ceiling."""

from __future__ import annotations

import pytest

from chord.round_trips import (
    CEILING_S,
    FLOOR_S,
    INITIAL_S,
    MAX_PEERS,
    SUSPECT_FOR_S,
    Peer,
    RoundTrips,
)


@pytest.mark.parametrize(
    ("measured", "attempt", "timeout_s"),
    [
        ([], 0, INITIAL_S),
        ([], 1, 2 * INITIAL_S),
        ([], 2, CEILING_S),
        ([], 9, CEILING_S),
        ([0.001], 0, FLOOR_S),
        ([0.001], 1, 2 * FLOOR_S),
        ([0.0], 0, FLOOR_S),
        ([0.1], 0, 0.1 + 4 * 0.05),
        ([0.1], 1, 2 * (0.1 + 4 * 0.05)),
        ([0.1, 0.1], 0, 0.1 + 4 * 0.0375),
        ([0.1, 0.3], 0, 0.125 + 4 * (0.05 + (0.2 - 0.05) / 4)),
        ([0.1] * 100, 0, FLOOR_S),
        ([0.4] * 100, 0, 0.4),
        ([5.0], 0, CEILING_S),
        ([60.0] * 50, 3, CEILING_S),
    ],
)
def test_a_timeout(measured, attempt, timeout_s):
    """Unknown peers get the initial one; each attempt doubles it; floor and ceiling hold."""
    peer = Peer()
    for rtt_s in measured:
        peer.observe(rtt_s)

    assert peer.timeout_s(attempt) == pytest.approx(timeout_s, rel=1e-6)


def test_a_slow_spell_is_forgotten():
    """After one reply of 10 s and forty of 1 ms the time-out is the floor again."""
    peer = Peer()
    peer.observe(10.0)
    assert peer.timeout_s() == CEILING_S

    for _ in range(80):
        peer.observe(0.001)

    assert peer.timeout_s() == FLOOR_S


@pytest.mark.parametrize(
    ("timeouts_at", "now", "suspected"),
    [
        ([], 10.0, False),
        ([10.0], 10.0, False),
        ([9.0, 10.0], 10.0, True),
        ([9.0, 10.0], 10.0 + SUSPECT_FOR_S - 0.01, True),
        ([9.0, 10.0], 10.0 + SUSPECT_FOR_S, False),
        ([1.0, 2.0, 10.0], 10.5, True),
    ],
)
def test_a_peer_is_suspected_after_two_timeouts_in_a_row(timeouts_at, now, suspected):
    """And for a while only: then it is worth another try."""
    round_trips = RoundTrips()
    for at in timeouts_at:
        round_trips.peer("a:1").timed_out(at)

    assert round_trips.suspected("a:1", now) is suspected


def test_a_reply_ends_the_suspicion():
    """One reply, late or not, and the peer is as good as any."""
    round_trips = RoundTrips()
    peer = round_trips.peer("a:1")
    peer.timed_out(1.0)
    peer.timed_out(2.0)

    peer.observe(0.5)

    assert not round_trips.suspected("a:1", 2.0)
    assert not round_trips.suspected("unknown:1", 2.0)


def test_not_more_peers_than_the_limit_are_remembered():
    """The longest known is forgotten first."""
    round_trips = RoundTrips()
    for number in range(MAX_PEERS + 1):
        round_trips.peer(f"a:{number}").observe(0.4)

    assert round_trips.peer("a:1").mean_s == 0.4
    assert round_trips.peer("a:0").mean_s == 0.0
