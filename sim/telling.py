"""A schedule that the exhaustive chooser found, told as a scenario (docs/scenarios.md), which anybody can run again."""

from __future__ import annotations

from collections.abc import Sequence

from sim.choices import Choice
from sim.scenario import RingBroken, Scenario
from sim.situations import LIST, Situation
from sim.stepwise import Ring, kind


def told(situation: Situation, schedule: Sequence[Choice]) -> list[str]:
    """The lines of a scenario, up to and including the one that breaks the ring, and `rounds` if none does."""
    addresses = [str(identifier) for identifier in (*situation.ring, *situation.joiners)]
    via = " ".join(map(str, situation.ring))
    scenario = Scenario()
    try:
        scenario.do(f"lists {LIST}")
        scenario.do(f"ring {via}")
        for place, happening in schedule:
            address = addresses[place]
            match happening:
                case ("join",):
                    scenario.do(f"{address} {'enters' if situation.enters else 'joins'} via {via}")
                case ("stabilize",):
                    scenario.do(f"{address} stabilizes")
                case ("fail",):
                    scenario.do(f"{address} fails")
                case ("receive", message):
                    scenario.do(hearing(scenario.ring, scenario.ring.flight.index(message)))
                case ("time out", call):
                    scenario.do(giving_up(scenario.ring, address, call))
                case ("wake", position):
                    scenario.do(f"{address} wakes" + _turn(position))
        scenario.do("rounds")
    except RingBroken:
        pass  # that is what it tells of
    return scenario.log


def hearing(ring: Ring, position: int, again: bool = False) -> str:
    """The command that has a message on its way arrive."""
    message = ring.flight[position]
    like = [
        each
        for each in ring.flight[:position]
        if (each.receiver, each.sender, kind(each)) == (message.receiver, message.sender, kind(message))
    ]
    return f"{message.receiver} hears {message.sender} {kind(message)}{_turn(len(like))}{' again' if again else ''}"


def giving_up(ring: Ring, address: str, call: int) -> str:
    """The command that has a call to a process that failed time out."""
    waiting = ring.processes[address].waiting()
    other = dict(waiting)[call]
    calls = [each for each, asked in waiting if asked == other]
    return f"{address} gives up {other}{_turn(calls.index(call))}"


def _turn(position: int) -> str:
    return f" #{position + 1}" if position else ""
