"""A chaos run as data: the ring, the network, and everything that is done to them. A seed draws all of it ("swarm").

Whom an action hits is a number, reduced to what is there when it happens, so a plan with actions taken away is a plan.
"""

from __future__ import annotations

import random
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Style = Literal["stop", "rough", "split"]
"""What goes wrong.

stop: processes stop, and nobody takes a live one for dead; all of Zave's assumptions hold, and so must her invariant.
rough: also loss, long delays, pauses, clogged links and drifting clocks. split: also a network that falls apart.
"""

Kind = Literal["join", "crash", "leave", "restart", "pause", "clog", "split", "put", "delete", "get", "lookup"]

FAULTS = frozenset({"join", "crash", "leave", "restart", "pause", "clog", "split"})
"""What the ring has to live through; the other actions ask it something."""

LARGEST = 10
"""Processes at one time."""

LONGEST_S = 3600.0
"""How long anything of a plan may take."""

Probability = Annotated[float, Meta(ge=0.0, le=1.0)]
Seconds = Annotated[float, Meta(ge=0.0, le=LONGEST_S)]
Pause = Annotated[float, Meta(ge=0.01, le=LONGEST_S)]

CLIENTS = 3
NAMES = 6
"""Records that the clients write and read, of two entries each."""

LEASE_S = 600.0
"""Of every entry: longer than a run that is drawn, so that none is gone because its time is over."""


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something done `at` so many seconds after the chaos begins. `times`: to so many, at one moment.

    `seconds` is how long a pause, a clog or a split lasts; a split is `one_way` or not.
    """

    at: Seconds
    kind: Kind
    number: Annotated[int, Meta(ge=0)]
    times: Annotated[int, Meta(ge=1, le=LARGEST)] = 1
    seconds: Seconds = 0.0
    one_way: bool = False


class Plan(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All of one run. Times are virtual seconds, latencies of one frame in one direction; `king`: of sim/latency.py.

    What is read from a file has the limits that the types state; the rings of a plan that is out of them need not do
    what is asked of them, or would never end.
    """

    seed: Annotated[int, Meta(ge=0)]
    style: Style
    start: Annotated[int, Meta(ge=1, le=LARGEST)]
    together: bool
    bits: Annotated[int, Meta(ge=6, le=64)]
    successors: Annotated[int, Meta(ge=1, le=128)]
    replicas: Annotated[int, Meta(ge=1, le=16)]
    vnodes: Annotated[int, Meta(ge=1, le=3)] = 1
    stabilize_s: Pause
    repair_s: Pause
    latency_s: tuple[Seconds, Seconds]
    king: bool = False
    loss: Probability = 0.0
    duplication: Probability = 0.0
    drift: Annotated[float, Meta(ge=0.0, le=0.5)] = 0.0
    actions: Annotated[tuple[Action, ...], Meta(max_length=1_000)]
    least: bool = True
    """Whether the run goes on until it had at least 200 deliveries and 5 faults."""

    @property
    def faults(self) -> int:
        """How many faults it asks for."""
        return sum(action.times for action in self.actions if action.kind in FAULTS)


def draw(seed: int) -> Plan:
    """The plan of a seed."""
    rng = random.Random(f"{seed}/plan")
    style: Style = rng.choice(["stop", "stop", "stop", "rough", "split"])
    vnodes = rng.choice([1, 1, 1, 1, 1, 1, 2, 3])
    start = rng.choice([1, 1, 2, 3, 4, 5, 6, 8]) if vnodes == 1 else rng.choice([1, 2, 3, 4])
    low = rng.choice([0.0005, 0.002, 0.01])
    successors = rng.randint(2, 8)
    lasting_s = rng.uniform(1.0, 4.0)
    return Plan(
        seed=seed,
        style=style,
        start=start,
        together=rng.random() < 0.7,
        bits=rng.choice([6, 7, 8, 16, 64]),
        successors=successors,
        replicas=rng.randint(2, 4),
        vnodes=vnodes,
        stabilize_s=rng.choice([0.25, 0.4, 0.4]),
        repair_s=rng.choice([0.5, 2.0, 20.0]),
        latency_s=(low, low * rng.uniform(1.0, 12.0) if style == "stop" else low * rng.uniform(1.0, 40.0)),
        king=style != "stop" and rng.random() < 0.25,
        loss=0.0 if style == "stop" else rng.choice([0.0, 0.01, 0.05]),
        duplication=rng.choice([0.0, 0.02]),
        drift=0.0 if style == "stop" else rng.choice([0.0, 0.01, 0.05]),
        actions=tuple(sorted(_actions(rng, style, lasting_s), key=lambda action: action.at)),
    )


KINDS: dict[Style, list[Kind]] = {
    "stop": ["join", "join", "join", "crash", "crash", "leave", "restart"],
    "rough": ["join", "join", "crash", "leave", "restart", "pause", "pause", "clog"],
    "split": ["join", "crash", "leave", "restart", "pause", "clog", "split", "split"],
}
ASKED: list[Kind] = ["put", "put", "put", "delete", "get", "get", "lookup"]


def _actions(rng: random.Random, style: Style, lasting_s: float) -> list[Action]:
    kinds = rng.sample(KINDS[style], rng.randint(3, len(KINDS[style])))
    bursts = rng.random() < 0.3
    faults = [_fault(rng, rng.choice(kinds), lasting_s, bursts) for _ in range(rng.randint(5, 10))]
    while sum(fault.times for fault in faults) < 5:
        faults.append(_fault(rng, rng.choice(kinds), lasting_s, bursts))
    asked = [
        Action(at=_moment(rng, lasting_s), kind=rng.choice(ASKED), number=rng.getrandbits(30))
        for _ in range(rng.randint(10, 30))
    ]
    return faults + asked


def _fault(rng: random.Random, kind: Kind, lasting_s: float, bursts: bool) -> Action:
    at = _moment(rng, lasting_s)
    if bursts:
        at = round(at)  # several at one moment
    times = rng.choice([1, 1, 1, 2, 3]) if kind in ("join", "crash", "leave") else 1
    longest = {"pause": 4.0, "clog": 1.0, "split": 8.0}.get(kind, 0.0)
    return Action(
        at=at,
        kind=kind,
        number=rng.getrandbits(30),
        times=times,
        seconds=round(rng.uniform(0.05, longest), 3) if longest else 0.0,
        one_way=kind == "split" and rng.random() < 0.3,
    )


def _moment(rng: random.Random, lasting_s: float) -> float:
    return round(rng.uniform(0.0, lasting_s), 3)
