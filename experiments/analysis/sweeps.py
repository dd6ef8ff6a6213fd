"""Runs that differ in one number, side by side: lookups by ring size, deliveries by number of clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.analysis.summary import ClientCount, Deliveries, Dissemination, Lookups, RingSize
from experiments.traces.run import RunInfo


def ring_sizes(runs: Sequence[RunInfo], lookups: Sequence[Lookups]) -> list[RingSize]:
    """One row a run and mode, by size, if there is more than one size.

    The lookups of clients that are themselves what a run is about, come when it starts, and are left out.
    """
    counted = {run.run for run in runs if run.clients is not None}
    rows = [row for row in lookups if row.ring_size is not None and row.run not in counted]
    if len({row.ring_size for row in rows}) < 2:
        return []
    found = [
        RingSize(
            run=row.run,
            ring_size=row.ring_size or 0,
            mode=row.mode,
            count=row.count,
            failed=row.failed,
            hops=row.hops,
            half_log2=row.half_log2,
            expected_hops=row.expected_hops,
            latency_us=row.latency_us,
            source=row.source,
        )
        for row in rows
    ]
    return sorted(found, key=lambda row: (row.ring_size, row.mode, row.source, row.run))


def client_counts(
    runs: Sequence[RunInfo], deliveries: Sequence[Deliveries], disseminations: Sequence[Dissemination]
) -> list[ClientCount]:
    """One row a mode of each run that is about a number of clients."""
    clients = {run.run: run.clients for run in runs if run.clients is not None}
    sources = {run.run: run.source for run in runs}
    lost: Mapping[tuple[str, str], int | None] = {(row.run, row.mode): row.lost for row in disseminations}
    found = [
        ClientCount(
            run=row.run,
            clients=clients[row.run],
            mode=row.mode,
            count=row.count,
            lost=lost.get((row.run, row.mode)),
            latency_us=row.latency_us,
            source=sources[row.run],
        )
        for row in deliveries
        if row.topic is None and row.run in clients
    ]
    return sorted(found, key=lambda row: (row.clients, row.mode, row.source, row.run))
