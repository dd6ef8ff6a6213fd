"""What is done to a living ring in one round: joins, kills, leaves and stops, drawn from a seed. Pure.

A plan depends on the seed, the number of the round and the size of the ring alone, and names nodes by their place in
ring order, so it can be drawn again for a ring on other ports.

Failures are bounded by a budget and by nothing else: a round fails, stops or sends away fewer nodes than a successor
list has entries, and leaves at least one node in peace, which is among those that each joiner knows.
"""

from __future__ import annotations

import random
from typing import Literal

from msgspec import Struct

FEWEST, MOST = 3, 12
"""Nodes of a ring at the beginning of a round, and at any time."""

EVENTS = (3, 8)
WINDOWS_S = (0.0, 0.3, 1.0, 3.0)
"""Within how long the events of a round begin; with 0 all of them at one instant."""

TOGETHER = 0.3
"""How many events come at the very moment of the one before."""

GENTLE = 0.7
"""How many rounds kill no more nodes than may die at once without a record being lost."""

NEIGHBOURS = 0.5
"""How many rounds choose their victims side by side."""

SHORT_STOP_S = 0.2
"""A stop that nobody's time-out notices: it is no failure."""

STOP_S = (0.1, 5.0)
CONTACTS = 3

Kind = Literal["join", "kill", "leave", "stop"]


class Event(Struct, frozen=True):
    """Something that is done `at_s` seconds into the round.

    `node`: the place in ring order of one of the nodes there at the beginning, or their number + i for the round's
    joiner i. A stop ends after `lasts_s`. A join knows the nodes `via`; `again`: under the address of the node that
    was killed last, if one was.
    """

    at_s: float
    kind: Kind
    node: int
    lasts_s: float = 0.0
    via: tuple[int, ...] = ()
    again: bool = False

    def __str__(self) -> str:
        more = f" for {self.lasts_s:.2f} s" if self.kind == "stop" else ""
        more += f" via {', '.join(map(str, self.via))}" if self.kind == "join" else ""
        return f"{self.at_s:.2f} s: {self.kind} {self.node}{more}{', same address' if self.again else ''}"


class Plan(Struct, frozen=True):
    """One round on a ring of `nodes`; the events in the order in which they begin."""

    seed: int
    number: int
    nodes: int
    events: tuple[Event, ...]

    def count(self, kind: Kind) -> int:
        """How many events are of a kind."""
        return sum(event.kind == kind for event in self.events)

    @property
    def long_stops(self) -> int:
        """How many stops others notice."""
        return sum(event.kind == "stop" and event.lasts_s > SHORT_STOP_S for event in self.events)

    @property
    def after(self) -> int:
        """How many nodes are left."""
        return self.nodes + self.count("join") - self.count("kill") - self.count("leave")

    @property
    def last_s(self) -> float:
        """When the last event ends."""
        return max(event.at_s + event.lasts_s for event in self.events)


def draw(seed: int, number: int, nodes: int, successors: int, replicas: int) -> Plan:
    """The plan of round `number` on a ring of `nodes` whose lists have `successors` entries."""
    rng = random.Random(f"{seed}/{number}")
    window_s = rng.choice(WINDOWS_S)
    drawing = _Drawing(
        rng, nodes, min(successors, nodes) - 1, replicas - 1 if rng.random() < GENTLE else nodes, rng.random()
    )
    count = rng.randint(*EVENTS)
    moments = sorted(rng.uniform(0.0, window_s) for _ in range(count))
    at_s = 0.0
    for moment in moments:
        if rng.random() >= TOGETHER:
            at_s = moment
        drawing.add(round(at_s, 3))
    return Plan(seed, number, nodes, tuple(drawing.events))


class _Drawing:
    """A plan while it is drawn: who is there, who has been harmed, what may still be done."""

    def __init__(self, rng: random.Random, nodes: int, budget: int, kills: int, where: float) -> None:
        self.events: list[Event] = []
        self._rng = rng
        self._nodes = nodes
        self._budget = budget
        self._kills = kills
        self._anchor = rng.randrange(nodes)
        others = [(self._anchor + step) % nodes for step in range(1, nodes)]
        if where < NEIGHBOURS:
            start = rng.randrange(len(others))
            self._order = others[start:] + others[:start]
        else:
            self._order = rng.sample(others, len(others))
        self._harmed: dict[int, None] = {}
        self._there = dict.fromkeys(range(nodes))
        self._joined = 0
        self._killed = False

    def add(self, at_s: float) -> None:
        """Draw one more event."""
        rng = self._rng
        room = MOST - len(self._there)
        join = 0.15 + 0.5 * room / MOST if room > 0 else 0.0
        if rng.random() < join:
            self._join(at_s)
            return
        kind: Kind = rng.choice(("kill", "kill", "stop", "leave"))
        victim = self._victim()
        if victim is None or (kind == "kill" and self._kills <= 0):
            kind = "stop"
        if kind == "stop":
            self._stop(at_s, victim)
            return
        assert victim is not None
        self._harmed[victim] = None
        del self._there[victim]
        if kind == "kill":
            self._kills -= 1
            self._killed = True
        self.events.append(Event(at_s, kind, victim))

    def _join(self, at_s: float) -> None:
        old = [node for node in self._there if node < self._nodes]
        others = [node for node in old if node != self._anchor]
        known = [self._anchor, *self._rng.sample(others, min(len(others), self._rng.randrange(CONTACTS)))]
        self._rng.shuffle(known)
        joiner = self._nodes + self._joined
        self._joined += 1
        self._there[joiner] = None
        again = self._killed and self._rng.random() < 0.4
        self.events.append(Event(at_s, "join", joiner, via=tuple(known), again=again))

    def _victim(self) -> int | None:
        """Somebody to harm: now and then one that is harmed already, or has just come, else the next in order."""
        rng = self._rng
        again = [node for node in self._harmed if node in self._there]
        if again and rng.random() < 0.2:
            return rng.choice(again)
        if len(self._harmed) >= self._budget:
            return rng.choice(again) if again else None
        new = [node for node in self._there if node >= self._nodes and node not in self._harmed]
        if new and rng.random() < 0.2:
            return rng.choice(new)
        return next((node for node in self._order if node in self._there and node not in self._harmed), None)

    def _stop(self, at_s: float, victim: int | None) -> None:
        """Stop a node; when the budget is spent, one of all for so short a time that nobody minds."""
        low, high = STOP_S
        lasts_s = low * (high / low) ** self._rng.random()
        if victim is None:
            victim = self._rng.choice(list(self._there))
            lasts_s = self._rng.uniform(low, SHORT_STOP_S)
        elif lasts_s > SHORT_STOP_S:
            self._harmed[victim] = None
        self.events.append(Event(at_s, "stop", victim, lasts_s=round(lasts_s, 3)))
