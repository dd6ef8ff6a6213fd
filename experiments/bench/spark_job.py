"""The pipeline in a process of its own, for benchmarks that count its memory: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from experiments.analysis import gold, queries, silver
from experiments.analysis.counts import counts
from experiments.analysis.state import load, save
from experiments.spark.session import Session
from experiments.sweep.blocks import blocks_of
from experiments.sweep.cells import Cell
from experiments.sweep.spread import outcomes_of
from experiments.traces.compacting import compact
from experiments.traces.manifest import Store
from experiments.traces.run import parts
from experiments.traces.schema import TABLES

LOOKUP = "lookup"


def main() -> None:
    """Answer until standard input ends."""
    with Session(sys.argv[1], large=True) as session:
        spark = session.get()
        for line in sys.stdin:
            asked = json.loads(line)
            answer = DOES[asked.pop("do")](spark, Path(asked.pop("run")), **asked)
            print(json.dumps({**answer, "peak_mb": round(peak_mb())}), flush=True)


def _refine(spark: SparkSession, run: Path) -> dict[str, Any]:
    """Make silver of what is pending, and keep it."""
    store = Store(run)
    began = time.perf_counter()
    store.manifest.generation += 1
    store.manifest.silver[LOOKUP] = silver.refine(spark, store, LOOKUP)
    store.manifest.pending[LOOKUP] = []
    store.save()
    return {"seconds": time.perf_counter() - began}


def _gold(spark: SparkSession, run: Path, out: str, rows: int) -> dict[str, Any]:
    """Make the gold tables of some files of silver; what was counted lies in `out` as well."""
    store = Store(run)
    files = some(store.manifest.silver[LOOKUP], rows)
    began = time.perf_counter()
    _count(spark, run, store, files, Path(out))
    return {"seconds": time.perf_counter() - began, "files": store.paths(files)}


def _whole(spark: SparkSession, run: Path, out: str) -> dict[str, Any]:
    """Make silver of what is pending, and gold of that; another asking does it again."""
    store = Store(run)
    began = time.perf_counter()
    store.manifest.generation += 1
    _count(spark, run, store, list(silver.refine(spark, store, LOOKUP)), Path(out))
    return {"seconds": time.perf_counter() - began}


def _count(spark: SparkSession, run: Path, store: Store, files: list[str], out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    found = parts(run)
    frames = {table: silver.read(spark, store, table, files if table == LOOKUP else []) for table in TABLES}
    infos = [part.info for part in found]
    state = queries.counted_with(spark, frames, infos, load(store), out, queries.silent, [LOOKUP])
    gold.write(out, run, found, store.manifest, state, counts(state))
    save(state, out)


def _compact(_spark: SparkSession, run: Path) -> dict[str, Any]:
    """Merge small files, as every ingestion does."""
    store = Store(run)
    began = time.perf_counter()
    fewer = compact(store)
    store.save()
    return {"seconds": time.perf_counter() - began, "fewer": fewer}


def _static(spark: SparkSession, _run: Path, nodes: int, lookups: int, rings: int, seed: int) -> dict[str, Any]:
    """Look up in static rings, a task each: how long it took, and of each ring hops, their mean and its speed."""
    blocks = blocks_of(
        Cell(name="", place="static", nodes=nodes, successors=0, lookups=lookups, rings=rings, seed=seed)
    )
    began = time.perf_counter()
    reports = [outcome.report for outcome in outcomes_of(spark, blocks, "static")]
    seconds = time.perf_counter() - began
    told = [report for report in reports if report is not None]
    assert len(told) == len(blocks), "no block fails"
    return {
        "seconds": seconds,
        "hops": [report.hops.distribution for report in told],
        "means": [report.hops.mean for report in told],
        "lookups_per_s": lookups / sum(report.lookups_s for report in told),
    }


DOES: dict[str, Callable[..., dict[str, Any]]] = {
    "refine": _refine,
    "gold": _gold,
    "whole": _whole,
    "compact": _compact,
    "static": _static,
}


def some(files: Mapping[str, int], rows: int) -> list[str]:
    """The first files that hold so many rows together."""
    found, held = [], 0
    for name in sorted(files):
        if held >= rows:
            break
        found.append(name)
        held += files[name]
    return found


def peak_mb() -> float:
    """The most memory that this process and those below it were seen to hold, added up: megabytes."""
    return sum(map(_peak_kb, _family([os.getpid()]))) / 1024


def _family(pids: Sequence[int]) -> list[int]:
    found = list(pids)
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += _family([int(child) for child in (task / "children").read_text().split()])
    return found


def _peak_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


if __name__ == "__main__":
    main()
