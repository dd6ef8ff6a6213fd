"""`bench spark-small-files`: gold tables of 1,000 small files, once merged by the pipeline, beside those of one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq

from experiments.bench.measurement import Figure, Progress, figure
from experiments.bench.spark_gold import CACHE, CORES, Job
from experiments.bench.spark_rows import generate
from experiments.traces.manifest import Manifest, Store
from experiments.traces.schema import LOOKUP
from experiments.traces.writing import COMPRESSION

FILES = 1_000
ROWS = 1_000_000


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Seconds from raw rows to gold tables of a million simulated lookups, with Java running already."""
    one, many = CACHE / "spark-small-files-one", CACHE / "spark-small-files-many"
    progress(f"spark-small-files: {ROWS} lookups in one file, and in {FILES}")
    generate(one, ROWS, 1)
    _split(one, many)
    try:
        with Job(CORES) as job:
            scattered = [_seconds(job, run) for run in (one, many)][-1]  # of the first, Java is not warm yet
            merged = job.ask("compact", many)
            ours, reference = [], []
            for number in range(runs):
                progress(f"spark-small-files: run {number + 1} of {runs}")
                ours.append(_seconds(job, many))
                reference.append(_seconds(job, one))
    finally:
        shutil.rmtree(CACHE / "spark-small-files-out", ignore_errors=True)
        shutil.rmtree(many, ignore_errors=True)
    notes = {
        "rows": ROWS,
        "rows_are": "simulated",
        "files": FILES,
        "files_fewer": merged["fewer"],
        "merging_seconds": round(merged["seconds"], 2),
        "seconds_unmerged": round(scattered, 2),
    }
    return [figure("spark-small-files", ours, reference, "the same rows in one file", "s", notes)]


def _seconds(job: Job, run: Path) -> float:
    seconds: float = job.ask("whole", run, out=str(CACHE / "spark-small-files-out"))["seconds"]
    return seconds


def _split(one: Path, many: Path) -> None:
    """The same run with its rows in many files."""
    shutil.rmtree(many, ignore_errors=True)
    shutil.copytree(one, many, ignore=shutil.ignore_patterns("parquet"))
    folder = many / "parquet" / LOOKUP.name
    folder.mkdir(parents=True)
    manifest = Manifest(generation=1)
    rows = pq.read_table(one / "parquet" / LOOKUP.name)
    each = ROWS // FILES
    for number in range(FILES):
        name = f"{LOOKUP.name}/{number:06d}-000.parquet"
        pq.write_table(rows.slice(number * each, each), many / "parquet" / name, compression=COMPRESSION)
        manifest.bronze[LOOKUP.name][name] = each
    manifest.pending[LOOKUP.name] = list(manifest.bronze[LOOKUP.name])
    Store(many, manifest).save()
