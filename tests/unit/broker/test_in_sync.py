"""Which backups are waited for, and which are proposed to be in sync."""

from __future__ import annotations

import pytest

from broker.in_sync import JOINING_S, PROPOSAL_S, SILENT_FOR_S, InSync
from broker.streams import Streams
from tests.unit.broker.outsides import Outside, backup_has, led, term


@pytest.fixture
def outside():
    return Outside()


@pytest.fixture
def stream(outside):
    return led(Streams(outside), newest=10)


def names(brokers):
    return frozenset(f"backup/{broker}" for broker in brokers)


def settle(stream, in_sync):
    stream.settle_up(in_sync.waited_for)
    return stream.upstream.safe


def test_a_backup_that_joins_is_waited_for_and_proposed_once_it_has_everything(outside, stream):
    """It is waited for from the first moment, so that it can catch up; it is in sync when it has what is safe."""
    in_sync = InSync("a", term(), outside)
    settle(stream, in_sync)
    in_sync.heard("b", b"b", 0.0)
    backup_has(stream, "b", 4)

    in_sync.tick([stream], 0.0)
    assert in_sync.waited_for == names("b")
    assert outside.proposed == []

    backup_has(stream, "b", 10)
    in_sync.tick([stream], 0.25)
    assert outside.proposed == [frozenset("ab")]


def test_a_backup_that_lacks_a_stream_is_not_proposed(outside):
    """Nothing was said to be safe of it, and still the backup has to read it."""
    streams = Streams(outside)
    one, other = led(streams, newest=3), led(streams, newest=3, producer=8)
    in_sync = InSync("a", term(), outside)
    in_sync.heard("b", b"b", 0.0)
    backup_has(one, "b", 3)

    in_sync.tick([one, other], 0.0)

    assert outside.proposed == []


def test_a_backup_that_does_not_catch_up_is_waited_for_no_more(outside, stream):
    """Or it would hold up the zone for ever."""
    in_sync = InSync("a", term(), outside)
    for now in (0.0, JOINING_S - 0.1, JOINING_S + 0.1):
        in_sync.heard("b", b"b", now)
        in_sync.tick([stream], now)
        assert in_sync.waited_for == (names("b") if now < JOINING_S else frozenset())


def test_a_backup_is_waited_for_from_the_moment_that_it_is_proposed(outside, stream):
    """However late it caught up: ZooKeeper may take it in before the next tick, and make it primary."""
    in_sync = InSync("a", term(), outside)
    in_sync.heard("b", b"b", 0.0)
    in_sync.heard("b", b"b", JOINING_S + 1)
    backup_has(stream, "b", 10)

    in_sync.tick([stream], JOINING_S + 1)

    assert outside.proposed == [frozenset("ab")]
    assert in_sync.waited_for == names("b")


def test_a_term_that_does_not_say_how_a_proposal_ended_does_not_end_the_waiting(outside, stream):
    """Somebody else came or went; the proposal may be carried out all the same."""
    in_sync = InSync("a", term(), outside)
    in_sync.heard("b", b"b", 0.0)
    in_sync.heard("b", b"b", JOINING_S + 1)
    backup_has(stream, "b", 10)
    in_sync.tick([stream], JOINING_S + 1)

    in_sync.on_term(term(live="abcd"))
    assert in_sync.waited_for == names("b")
    in_sync.on_term(term("ab", live="abcd"))
    assert in_sync.waited_for == names("b")


def test_whoever_was_in_any_proposal_that_may_hold_is_waited_for(outside, stream):
    """A second proposal does not undo the first, whose answer may be lost."""
    in_sync = InSync("a", term(), outside)
    for broker in "bc":
        in_sync.heard(broker, broker.encode(), 0.0)
    backup_has(stream, "b", 10)
    in_sync.tick([stream], 0.0)
    later = JOINING_S + SILENT_FOR_S
    in_sync.heard("c", b"c", later)
    backup_has(stream, "c", 10)

    in_sync.tick([stream], later)

    assert outside.proposed == [frozenset("ab"), frozenset("ac")]
    assert in_sync.waited_for == names("bc")
    in_sync.on_term(term("ac"))
    assert in_sync.waited_for == names("c")


def test_a_backup_that_is_gone_is_waited_for_until_zookeeper_has_taken_it_out(outside, stream):
    """It may become primary until then."""
    in_sync = InSync("a", term("ab"), outside)
    backup_has(stream, "b", 6)
    in_sync.heard("b", b"b", 0.0)
    in_sync.tick([stream], 0.0)
    assert settle(stream, in_sync) == 6

    in_sync.tick([stream], SILENT_FOR_S + 0.1)
    assert outside.proposed == [frozenset("a")]
    assert settle(stream, in_sync) == 6

    in_sync.on_term(term("a"))
    assert settle(stream, in_sync) == 10


def test_a_backup_without_an_election_node_is_taken_out(outside, stream):
    """Though it says that it lives: it could not take over."""
    in_sync = InSync("a", term("ab", live="a"), outside)
    in_sync.heard("b", b"b", 0.0)
    backup_has(stream, "b", 10)

    in_sync.tick([stream], 0.0)

    assert outside.proposed == [frozenset("a")]


def test_a_proposal_is_made_again_when_it_is_not_settled(outside, stream):
    """Not at every tick, though."""
    in_sync = InSync("a", term("ab"), outside)
    for now in (0.0, 1.0, PROPOSAL_S + 0.1):
        in_sync.tick([stream], SILENT_FOR_S + now)

    assert outside.proposed == [frozenset("a")] * 2


def test_a_new_primary_gives_backups_the_time_to_follow(outside, stream):
    """One that lives stays in sync for as long as it could not have spoken; one that does not live goes at once."""
    in_sync = InSync("a", term("ab"), outside)
    in_sync.tick([stream], SILENT_FOR_S - 0.1)
    assert outside.proposed == []
    in_sync.tick([stream], SILENT_FOR_S + 0.1)
    assert outside.proposed == [frozenset("a")]

    InSync("a", term("ab", live="a"), outside).tick([stream], 0.0)
    assert outside.proposed[1:] == [frozenset("a")]


def test_a_backup_of_a_new_primary_needs_what_that_began_with(outside):
    """The last primary may have said of all of it that it was safe; the new one does not know."""
    streams = Streams(outside)
    stream = led(streams, newest=10)
    stream.lead(4)
    stream.read("p:1", "zone/z", stream.upstream.fence, 4, 1.0)
    in_sync = InSync("a", term(epoch=4), outside)
    in_sync.heard("b", b"b", 0.0)
    backup_has(stream, "b", 4)

    in_sync.tick([stream], 0.0)

    assert stream.upstream.safe == 0
    assert outside.proposed == []


def test_a_primary_that_stood_still_holds_it_against_no_backup(outside, stream):
    """They said that they live meanwhile; it reads that later."""
    in_sync = InSync("a", term("ab"), outside)
    in_sync.heard("b", b"b", 0.0)

    in_sync.stood_still(10.0, 10.1)
    in_sync.tick([stream], 10.1)
    assert outside.proposed == []

    in_sync.tick([stream], 10.1 + SILENT_FOR_S)
    assert outside.proposed == [frozenset("a")]
