"""Virtual time passes from event to event, in an order that only the program decides."""

from __future__ import annotations

import pytest

from sim.scheduler import Scheduler, minutes


def test_events_happen_in_order_of_time_and_scheduling():
    """Earlier before later; at one moment what was scheduled first."""
    scheduler = Scheduler()
    happened: list[str] = []
    for name, when in [("d", 2.0), ("b", 1.0), ("c", 1.0), ("a", 0.5)]:
        scheduler.at(when, lambda name=name: happened.append(name))

    scheduler.run_for(2.0)

    assert happened == list("abcd")
    assert scheduler.now == 2.0


def test_time_stands_at_the_event_while_it_happens():
    """An event sees its own time, and what it schedules in the past happens now."""
    scheduler = Scheduler()
    seen: list[float] = []
    scheduler.at(3.0, lambda: scheduler.at(1.0, lambda: seen.append(scheduler.now)))

    scheduler.run_for(5.0)

    assert seen == [3.0]
    assert scheduler.now == 5.0


def test_what_lies_beyond_the_time_given_waits():
    """An event one moment later than the run's end happens in the next run."""
    scheduler = Scheduler()
    happened: list[float] = []
    scheduler.at(1.5, lambda: happened.append(scheduler.now))

    scheduler.run_for(1.0)
    assert happened == []

    scheduler.run_for(1.0)
    assert happened == [1.5]


def test_a_cancelled_event_does_not_happen():
    """Cancelling takes an event out, and harms nothing when it comes too late."""
    scheduler = Scheduler()
    happened: list[str] = []
    event = scheduler.after(1.0, lambda: happened.append("no"))
    late = scheduler.after(0.5, lambda: happened.append("yes"))
    event.cancel()

    scheduler.run_for(2.0)
    late.cancel()

    assert happened == ["yes"]
    assert scheduler.happened == 1


def test_a_run_ends_where_its_condition_holds():
    """run_until stops right after the event that fulfils the condition, or says that none did."""
    scheduler = Scheduler()
    happened: list[int] = []
    for second in range(1, 6):
        scheduler.at(float(second), lambda second=second: happened.append(second))

    assert scheduler.run_until(lambda: len(happened) == 2, 10.0)
    assert scheduler.now == 2.0

    assert not scheduler.run_until(lambda: len(happened) == 9, 10.0)
    assert scheduler.now == 12.0


def test_a_dear_condition_is_asked_at_intervals():
    """poll_until looks every so often, and gives up when the time is over."""
    scheduler = Scheduler()
    asked: list[float] = []

    def done() -> bool:
        asked.append(scheduler.now)
        return scheduler.now >= 0.5

    assert scheduler.poll_until(done, 10.0, 0.25)
    assert asked == [0.0, 0.25, 0.5]
    assert not scheduler.poll_until(lambda: False, 1.0, 0.3)
    assert scheduler.now == 1.5


@pytest.mark.parametrize(("time_s", "shown"), [(0.0, "0:00.000"), (125.25, "2:05.250"), (59.9996, "1:00.000")])
def test_times_are_read_in_minutes(time_s, shown):
    """A virtual time is shown as minutes and seconds."""
    assert minutes(time_s) == shown
