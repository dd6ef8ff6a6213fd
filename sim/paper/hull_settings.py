"""Which settings of a ring process the figure of latency against bandwidth tries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from typing import Any

from chord.settings import Settings
from sim.paper.figure import Parameters

OURS = Settings()
STABILIZE_S = (0.2, 0.4, 1.0, 3.0, 10.0, 30.0)
SOME_STABILIZE_S = (0.4, 3.0, 30.0)
SUCCESSORS = (4, 16)
FINGERS_S = (30.0,)
VNODES = 4


@dataclass(frozen=True)
class Tried:
    """One combination; everything else is as `dht join` has it."""

    stabilize_s: float = OURS.stabilize_s
    successors: int = OURS.successors
    fingers_s: float = OURS.fingers_s
    vnodes: int = 1

    def __str__(self) -> str:
        """As it stands beside a point."""
        return "/".join(f"{value:g}" for value in astuple(self))

    def settings(self) -> Settings:
        """As a process takes it."""
        return Settings(stabilize_s=self.stabilize_s, successors=self.successors, fingers_s=self.fingers_s)


DEFAULT = Tried()


def tried_by(parameters: Parameters) -> Tried:
    """The settings that a cell is to measure."""
    chosen: dict[str, Any] = {field.name: parameters[field.name] for field in fields(Tried)}
    return Tried(**chosen)


def tried(quick: bool) -> Iterator[Tried]:
    """The pause between stabilizations, alone and together with one of the others; the costliest first."""
    if quick:
        yield from (DEFAULT, Tried(3.0), Tried(30.0))
        return
    for stabilize_s in SOME_STABILIZE_S[1:]:  # with virtual nodes the shortest of them alone takes as long as the rest
        yield Tried(stabilize_s, vnodes=VNODES)
    for stabilize_s in STABILIZE_S:
        yield Tried(stabilize_s)
    for stabilize_s in SOME_STABILIZE_S:
        for successors in SUCCESSORS:
            yield Tried(stabilize_s, successors=successors)
        for fingers_s in FINGERS_S:
            yield Tried(stabilize_s, fingers_s=fingers_s)
