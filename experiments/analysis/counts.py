"""What was counted of a run, as rows of plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import msgspec

from experiments.analysis import deliveries, lookups, losses, timeline
from experiments.analysis.state import State


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts that a summary is made of."""

    flows: list[losses.Flow]
    publications: list[losses.Publication]
    by_subscriber: list[dict[str, Any]]
    by_topic: list[dict[str, Any]]
    cells: list[lookups.Cell]
    lookup_latency: list[dict[str, Any]]
    seconds: list[timeline.Second]


def counts(state: State) -> Counts:
    """Those of one run directory."""
    rows = {name: table.to_pylist() for name, table in state.tables.items() if name not in ("edges", "slowest")}
    return Counts(
        flows=deliveries.flows(rows["blocks"]),
        publications=msgspec.convert(rows["publications"], list[losses.Publication]),
        by_subscriber=rows["by_subscriber"],
        by_topic=rows["by_topic"],
        cells=msgspec.convert(rows["cells"], list[lookups.Cell]),
        lookup_latency=rows["lookup_latency"],
        seconds=msgspec.convert(rows["seconds"], list[timeline.Second]),
    )


def together(every: Sequence[Counts]) -> Counts:
    """Those of several run directories."""
    return Counts(*([row for each in every for row in getattr(each, field.name)] for field in fields(Counts)))
