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
import re
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from chord.errors import LocalProtocolError
from experiments.sweep.cells import PAYLOAD_BYTES, SUCCESSORS, Dissemination, FaultKind, Mode, Place
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
from experiments.sweep.quoting import quoted

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
    faults: dict[str, Annotated[list[FaultEntry], Meta(min_length=1)]] = {}


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
    for key, value in _floats(tables, ""):
        if not math.isfinite(value):
            raise BadPlan(f"{file}: {key}: expected a finite number; seen {value}")
    try:
        return msgspec.convert(tables, PlanFile)
    except msgspec.ValidationError as error:
        raise BadPlan(f"{file}: {_told(str(error), tables)}") from None


def _told(complaint: str, tables: dict[str, Any]) -> str:
    """msgspec's complaint with the key first: `sweep[0].rate: expected float, got str; seen "fast"`."""
    what, _, where = complaint.partition(" - at `$")
    key = where.rstrip("`").lstrip(".")
    unknown = re.search(r"unknown field `(.*)`", what)
    if unknown:
        name = unknown[1]
        known = (Block if "sweep" in key else FaultEntry if "faults" in key else PlanFile).__struct_fields__
        near = get_close_matches(name, known, 1)
        meant = f"{near[0]!r}?" if near else f"one of {', '.join(known)}"
        return f"{key or 'top level'}: there is no key {name!r}; expected {meant}"
    missing = re.search(r"missing required field `(.*)`", what)
    if missing:
        return f"{key or 'top level'}: expected a key {missing[1]!r}; seen none"
    seen = _look_up(tables, key)
    return f"{key}: {what[:1].lower()}{what[1:].replace('`', '')}" + ("" if seen is None else f"; seen {quoted(seen)}")


def _floats(value: Any, key: str) -> Iterator[tuple[str, float]]:
    """Every number with a point, with the path that leads to it."""
    if isinstance(value, float):
        yield key, value
    elif isinstance(value, dict):
        for name, below in value.items():
            yield from _floats(below, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _floats(below, f"{key}[{index}]")


def _look_up(tables: Any, key: str) -> Any:
    """The value at a path like `sweep[0].nodes`; None for what is not to be found by it."""
    found = tables
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", key):
        try:
            found = found[int(index)] if index else found[name]
        except (KeyError, IndexError, TypeError):
            return None
    return found
