"""A plan as its TOML file has it: what varies, where it runs, what is done to it, how often. docs/plans.md tells it.

title = "Lookups on rings of processes"

[[sweep]]
where = "local"
nodes = "4..32"
lookups = 2000
faults = ["none", "one-killed"]

[[faults.one-killed]]
kind = "kill"
at_s = 2.0
target = "node:*"
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from chord.errors import LocalProtocolError
from experiments.sweep.cells import PAYLOAD_BYTES, SUCCESSORS, Dissemination, FaultKind, Mode, Place
from experiments.sweep.complaints import Step, steps, told, written
from experiments.sweep.limits import (
    LEAST_RATE,
    MOST_CLIENTS,
    MOST_RATE,
    MOST_REPEATS,
    MOST_REPLICAS,
    MOST_RINGS,
    MOST_SAMPLES,
    MOST_TOPOLOGY,
    MOST_ZONES,
)

Numbers = int | str | Annotated[list[int | str], Meta(min_length=1)]
"""As values.py reads them."""

Texts = Annotated[list[str], Meta(min_length=1)]

Positive = Annotated[float, Meta(gt=0)]
Topology = Annotated[str, Meta(max_length=MOST_TOPOLOGY)]
Rate = Annotated[float, Meta(ge=LEAST_RATE, le=MOST_RATE)]


class BadPlan(LocalProtocolError):
    """A plan that makes no sweep. The text names the file, the key, what was expected and what was seen."""


class FaultEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fault, or one that comes again each `every_s` seconds, the last time at `until_s` at the latest."""

    kind: FaultKind
    at_s: Annotated[float, Meta(ge=0)]
    target: str = ""
    every_s: Positive | None = None
    until_s: Positive | None = None


FaultEntries = Annotated[list[FaultEntry], Meta(min_length=1)]


class Block(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[[sweep]]`: every combination of what it names several of is a cell. cells.py tells what each is.

    `publishers` and `subscribers` go together, the first with the first; without `subscribers` they are as many.
    `seeds` times `repeats` is how often.
    """

    where: Place | Annotated[list[Place], Meta(min_length=1)] = "local"
    nodes: Numbers = 8
    vnodes: Numbers = 1
    successors: Numbers = SUCCESSORS
    mode: Mode | Annotated[list[Mode], Meta(min_length=1)] = "iterative"
    dissemination: Dissemination | Annotated[list[Dissemination], Meta(min_length=1)] | None = None
    publishers: Numbers | None = None
    subscribers: Numbers | None = None
    topics: Annotated[int, Meta(ge=1, le=MOST_CLIENTS)] | None = None
    lookups: int | str = 0
    lookup_rate: Rate | None = None
    payload_bytes: Numbers = PAYLOAD_BYTES
    samples: Annotated[int, Meta(ge=1, le=MOST_SAMPLES)] = 100
    rate: Rate = 20.0
    topology: Topology | Annotated[list[Topology], Meta(min_length=1)] | None = None
    bw_mbit: Positive | None = None
    delay_ms: Positive | None = None
    capture: bool = False
    faults: str | Texts = "none"
    seeds: Numbers = 1
    repeats: Annotated[int, Meta(ge=1, le=MOST_REPEATS)] = 1
    zones: Annotated[int, Meta(ge=1, le=MOST_ZONES)] = 2
    replicas: Annotated[int, Meta(ge=1, le=MOST_REPLICAS)] = 3
    latency: str | None = None
    figure: str | Texts | None = None
    quick: bool = False
    rings: Annotated[int, Meta(ge=1, le=MOST_RINGS)] | None = None


class PlanFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of a plan. `about` says whose figure it is, `theirs` which tables of plans/theirs.toml to print beside."""

    title: str
    about: str = ""
    theirs: list[str] = []
    sweep: Annotated[list[Block], Meta(min_length=1)]
    faults: dict[str, FaultEntries] = {}


def parse(text: str, file: Path | str) -> dict[str, Any]:
    """The tables of a plan, not yet looked at. Raises BadPlan."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadPlan(f"{file}: expected TOML; seen: {error}") from None
    except ValueError:  # Python's own limit on the digits of a number
        raise BadPlan(f"{file}: expected numbers below 2^63; seen one of thousands of digits") from None
    except RecursionError:
        raise BadPlan(f"{file}: expected a list of numbers or names; seen hundreds of lists in each other") from None


def convert(tables: dict[str, Any], file: Path | str) -> PlanFile:
    """The plan in these tables. Raises BadPlan."""
    for place, value in _floats(tables, ()):
        if not math.isfinite(value):
            raise BadPlan(f"{file}: {written(place)}: expected a finite number; seen {value}")
    try:
        return msgspec.convert(tables, PlanFile)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        path = steps(where.rstrip("`"), _bad_fault_plan(tables))
        raise BadPlan(f"{file}: {told(what, path, _keys(path), tables)}") from None


def _keys(path: Sequence[Step]) -> Sequence[str]:
    """Those that there may be at a path."""
    table = {"sweep": Block, "faults": FaultEntry}.get(str(path[0]), PlanFile) if path else PlanFile
    return table.__struct_fields__


def _bad_fault_plan(tables: dict[str, Any]) -> str:
    """The name of the first fault plan that is none, if there is one; msgspec does not say it."""
    plans = tables.get("faults")
    for name, entries in plans.items() if isinstance(plans, dict) else ():
        try:
            msgspec.convert(entries, FaultEntries)
        except msgspec.ValidationError:
            return str(name)
    return ""


def _floats(value: Any, path: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], float]]:
    """Every number with a point, with the path that leads to it."""
    if isinstance(value, float):
        yield path, value
    elif isinstance(value, dict):
        for name, below in value.items():
            yield from _floats(below, (*path, name))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _floats(below, (*path, index))
