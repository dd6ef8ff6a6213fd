"""`bench spark-gold`: all gold tables of 50 million simulated lookups, by the pipeline and by DuckDB in turns."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.analysis.counted import TABLES
from experiments.analysis.schemas import COLUMNS, OF_KEYS
from experiments.bench import duckdb_counts
from experiments.bench.measurement import Figure, Progress, figure
from experiments.bench.spark_rows import SIZES, STARTED_US, generate, info_of

ROWS = int(os.environ.get("RINGCAST_BENCH_ROWS", "50000000"))
CACHE = Path("runs/bench")
CORES = 2
DUCKDB_MEMORY = "3GB"


class Job:
    """The pipeline as a process."""

    def __init__(self, cores: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "experiments.bench.spark_job", f"local[{cores}]"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, do: str, run: Path, **more: object) -> dict[str, Any]:
        """Have something done. Raises RuntimeError when the process is gone."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, "run": str(run), **more}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the pipeline ended while it was asked to {do} {run}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Job:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        if kind is not None:
            self._process.terminate()
        self._process.wait()


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Seconds for all gold tables from rows that count once, of both; every answer is compared.

    The memory is that of Java and Python together, for a fifth of the rows in a process of its own, and for all.
    """
    run = CACHE / f"spark-gold-{ROWS}"
    progress(f"spark-gold: {ROWS} lookups in static rings, generated once into {run}")
    generate(run, ROWS, CORES, lambda rows: progress(f"spark-gold: {rows} more rows"))
    out = CACHE / "spark-gold-out"
    try:
        with Job(CORES) as job:
            progress("spark-gold: rows that count once")
            refined = _refined(job, run)
            progress(f"spark-gold: {refined['seconds']:.0f} s; then a fifth of the rows")
        with Job(CORES) as job:
            fifth = [job.ask("gold", run, out=str(out), rows=ROWS // 5) for _ in range(2)][-1]
        with Job(CORES) as job:
            ours, reference, peaks = _alternate(runs, job, run, out, progress)
    finally:
        shutil.rmtree(out, ignore_errors=True)
    notes = {
        "rows": ROWS,
        "rows_are": "simulated",
        "cores": CORES,
        "tables_compared": len(COLUMNS) + len(OF_KEYS) - len(NOT_OF_LOOKUPS),
        "peak_mb": max(peaks),
        "peak_mb_of_a_fifth": fifth["peak_mb"],
        "seconds_of_a_fifth": round(fifth["seconds"], 2),
        "first_run_seconds": round(ours[0], 2),
        "refine_seconds": round(refined["seconds"], 2),
    }
    return [figure("spark-gold", ours, reference, "DuckDB, the same tables", "s", notes)]


def _refined(job: Job, run: Path) -> dict[str, Any]:
    """Make silver unless that is there; how long it took is kept beside it."""
    kept = run / "refined.json"
    if not kept.exists():
        kept.write_text(json.dumps(job.ask("refine", run)))
    told: dict[str, Any] = json.loads(kept.read_text())
    return told


def _alternate(
    runs: int, job: Job, run: Path, out: Path, progress: Progress
) -> tuple[list[float], list[float], list[int]]:
    ours, reference, peaks = [], [], []
    started_us = {info_of(nodes).run: STARTED_US for nodes in SIZES}
    for number in range(runs):
        progress(f"spark-gold: run {number + 1} of {runs}")
        told = job.ask("gold", run, out=str(out), rows=ROWS)
        began = time.perf_counter()
        connection = duckdb_counts.connect(CORES, DUCKDB_MEMORY)
        answers = duckdb_counts.count(connection, told["files"], started_us)
        reference.append(time.perf_counter() - began)
        connection.close()
        ours.append(told["seconds"])
        peaks.append(told["peak_mb"])
        progress(f"spark-gold: {ours[-1]:.1f} s against {reference[-1]:.1f} s, {peaks[-1]} MB")
        for name, answer in answers.items():
            _compare(name, pq.read_table(out / f"{name}.parquet"), answer)
    return ours, reference, peaks


NOT_OF_LOOKUPS = ("blocks", "by_subscriber", "by_topic", "publications", "after")
"""What rows of lookups say nothing of."""


def _compare(name: str, ours: pa.Table, answer: pa.Table) -> None:
    """Raises AssertionError at the first row that differs."""
    schema = {**COLUMNS, **OF_KEYS}[name]
    assert name in OF_KEYS or name in TABLES
    mine, theirs = (_ordered(table.select(schema.names).cast(schema)) for table in (ours, answer))
    for one, other in zip(mine, theirs, strict=True):
        assert one == other, f"{name}: {one} against DuckDB's {other}"


def _ordered(table: pa.Table) -> list[tuple[object, ...]]:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted(rows, key=lambda row: tuple((value is not None, value) for value in row))
