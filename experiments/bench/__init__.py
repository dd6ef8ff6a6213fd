"""The benchmarks by name, and what runs them."""

from __future__ import annotations

import sys
from collections.abc import Callable

from chord.errors import LocalProtocolError
from experiments.bench.measurement import Figure

RUNS = 5

Progress = Callable[[str], None]
Benchmark = Callable[[int, Progress], list[Figure]]


def _lookup(runs: int, progress: Progress) -> list[Figure]:
    from experiments.bench.lookup import bench_lookup

    return bench_lookup(runs, progress)


def _ring_kill(runs: int, progress: Progress) -> list[Figure]:
    from experiments.bench.ring_kill import bench_ring_kill

    return bench_ring_kill(runs, progress)


def _ring_start(runs: int, progress: Progress) -> list[Figure]:
    from experiments.bench.ring_start import bench_ring_start

    return bench_ring_start(runs, progress)


def _pubsub_direct(runs: int, progress: Progress) -> list[Figure]:
    from experiments.bench.pubsub_direct import bench_pubsub_direct

    return bench_pubsub_direct(runs, progress)


BENCHMARKS: dict[str, Benchmark] = {
    "lookup": _lookup,
    "ring-start": _ring_start,
    "ring-kill": _ring_kill,
    "pubsub-direct": _pubsub_direct,
}


def select(names: list[str]) -> list[str]:
    """The benchmarks to run: those named, or all. Raises LocalProtocolError for an unknown one."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        raise LocalProtocolError(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    return names or list(BENCHMARKS)


def bench(names: list[str], runs: int, as_json: bool) -> None:
    """Run benchmarks and print each figure as it is measured: a line of JSON, or a line to read."""
    for name in select(names):
        for measured in BENCHMARKS[name](runs, lambda text: print(text, file=sys.stderr, flush=True)):
            print(measured.as_json().decode() if as_json else measured.as_text(), flush=True)
