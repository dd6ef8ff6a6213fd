"""What two sets of runs measured in the same way: of the same kind of ring, of the same size, in the same mode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from experiments.analysis.histogram import Histogram, middle_us
from experiments.analysis.summary import SOURCE_NAMES
from experiments.page.figures.histograms import gathered
from experiments.page.material import Material

Key = tuple[str, ...]
Runs = Mapping[Key, Mapping[str, Histogram]]
"""By configuration, which begins with the source: a histogram for each run's name."""

Kind = Literal["hops", "latency", "share"]


@dataclass(frozen=True)
class Pair:
    """One thing that both sides measured: a histogram for each of their runs.

    Latencies are in microseconds; of a share, 1 stands for what counts and 0 for all else. `runs` are the names of
    both sides' runs.
    """

    what: str
    kind: Kind
    source: str
    ours: Sequence[Histogram]
    its: Sequence[Histogram]
    runs: tuple[Sequence[str], Sequence[str]]


def pairs(ours: Material, its: Material) -> Iterator[Pair]:
    """Everything that both have."""
    tables: tuple[tuple[str, Kind, Callable[[Material], Runs]], ...] = (
        ("hops", "hops", _hops),
        ("lookup latency", "latency", _lookup_latency),
        ("delivery latency", "latency", _delivery_latency),
        ("failed lookups", "share", _failed),
        ("lost samples", "share", _lost),
    )
    for what, kind, table in tables:
        first, second = table(ours), table(its)
        for key in first:
            if key in second:
                words = ", ".join(word for word in (SOURCE_NAMES[key[0]], *key[1:]) if word)
                one, two = first[key], second[key]
                yield Pair(
                    f"{what}, {words}", kind, key[0], list(one.values()), list(two.values()), (list(one), list(two))
                )


def rows_of(runs: Sequence[Histogram]) -> int:
    """How many rows they count."""
    return sum(sum(histogram.values()) for histogram in runs)


def _hops(material: Material) -> Runs:
    found = gathered(material.hops, lambda row: (row.run, row.mode), lambda row: row.hops)
    return _by_configuration(material, found)


def _lookup_latency(material: Material) -> Runs:
    chosen = (row for row in material.lookup_latency if row.step == "lookup")
    found = gathered(chosen, lambda row: (row.run, row.mode), lambda row: middle_us(row.bucket))
    return _by_configuration(material, found)


def _delivery_latency(material: Material) -> Runs:
    found = gathered(material.delivery, lambda row: (row.run, row.dissemination), lambda row: middle_us(row.bucket))
    return _by_configuration(material, found)


def _failed(material: Material) -> Runs:
    found = gathered(material.lookups, lambda row: (row.run, row.mode), lambda row: int(row.outcome != "ok"))
    return _by_configuration(material, found)


def _lost(material: Material) -> Runs:
    found: dict[tuple[str, str], dict[int, int]] = {}
    for row in material.flows:
        if row.lost is not None and row.published:
            counts = found.setdefault((row.run, row.dissemination), {0: 0, 1: 0})
            counts[0] += row.published - row.lost
            counts[1] += row.lost
    return _by_configuration(material, found)


def _by_configuration(material: Material, found: Mapping[tuple[str, str], Histogram]) -> Runs:
    """Runs that differ in nothing but chance belong together: real or not, size, virtual nodes, clients and mode."""
    together: dict[Key, dict[str, Histogram]] = defaultdict(dict)
    for (name, mode), histogram in found.items():
        run = material.run(name)
        size = f"N = {run.ring_size:,}" if run.ring_size else ""
        vnodes = f"{run.vnodes} virtual nodes" if run.vnodes and run.vnodes > 1 else ""
        clients = f"{run.clients} clients" if run.clients else ""
        together[run.source, size, vnodes, clients, mode][name] = histogram
    return together
