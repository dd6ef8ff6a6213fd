"""How runs, sources, times and counts are told in figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import TypedDict, TypeVar

from experiments.analysis.summary import SOURCE_NAMES
from experiments.page.material import Material, Paper
from sim.paper.report import seeds_told

STEPS = (1, 2, 5)
NARROW, WIDE = 5, 1_000
Each = TypeVar("Each")


def name_of(source: str, *words: str | None) -> str:
    """The name of a series: what it is, and that it is simulated, or not."""
    return f"{', '.join(word for word in words if word)} ({SOURCE_NAMES[source]})"


def titled(source: str, words: str) -> str:
    """The title of a panel of one source."""
    return f"{words}, {SOURCE_NAMES[source]}"


def seeds(found: Iterable[int | None]) -> str:
    """`seeds 0-9, 12`; nothing of runs that chance alone drove."""
    known = sorted({seed for seed in found if seed is not None})
    return seeds_told(known) if known else ""


def by_source(found: Iterable[Each], source: Callable[[Each], str]) -> dict[str, list[Each]]:
    """What is real apart from what is simulated: live first, each in the order in which it came."""
    apart: dict[str, list[Each]] = {name: [] for name in SOURCE_NAMES}
    for each in found:
        apart[source(each)].append(each)
    return {name: own for name, own in apart.items() if own}


def in_turn(apart: Mapping[str, Sequence[Each]], most: int) -> list[Each]:
    """At most so many, the first of every source before the second of any."""
    return [each for each in chain.from_iterable(zip_longest(*apart.values())) if each is not None][:most]


class Told(TypedDict):
    """What a figure says of the runs in it: their names and seeds."""

    runs: list[str]
    seeds: str


def runs_of(material: Material, names: Iterable[str]) -> Told:
    """What a figure says of the runs in it: their names and seeds."""
    found = [material.run(name) for name in dict.fromkeys(names)]
    return {
        "runs": [run.name for run in found],
        "seeds": seeds(run.seed for run in found),
    }


def together(paper: Paper | None, told: Told | None = None) -> Told:
    """The same with a figure of `sim paper` beside the runs, or alone."""
    found = told or Told(runs=[], seeds="")
    if paper is None:
        return found
    told_seeds = ", ".join(text for text in (found["seeds"], seeds(paper.seeds)) if text)
    name = f"{paper.of} {paper.name}{' (small form)' if paper.quick else ''}"
    return {"runs": [*found["runs"], name], "seeds": told_seeds}


def number(text: str | None) -> float | None:
    """A cell of a CSV: empty ones hold nothing."""
    return float(text) if text else None


def time(us: float) -> str:
    """A time in the unit that reads best: µs, ms or s."""
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= factor:
            return f"{us / factor:.3g} {unit}"
    return f"{us:.3g} µs"


def time_ticks(least_ms: float, most_ms: float) -> list[tuple[float, str]]:
    """Places on a logarithmic axis of milliseconds: 1, 2 and 5 of each power of ten; fewer if it is wide, else more."""
    ratio = most_ms / max(1e-3, least_ms)
    steps = range(1, 10) if ratio < NARROW else STEPS[: 1 if ratio > WIDE else 3]
    places = [round(step * 10.0**power, 6) for power in range(-3, 6) for step in steps]
    return [(place, f"{place:,g}") for place in places if max(1e-3, least_ms) / 2 <= place <= most_ms * 2]


def number_ticks(places: Iterable[float]) -> list[tuple[float, str]]:
    """Just these numbers, in order."""
    return [(place, f"{place:,.0f}") for place in sorted(set(places))]
