"""The analysis of one run: spools to Parquet, Parquet to counts and histograms, those to a Summary and its files.

Java starts while the spools are read; nothing but counts comes back from it to this process.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path

from experiments.analysis.queries import Progress, count, silent
from experiments.analysis.summarise import summarise
from experiments.analysis.summary import Summary
from experiments.report import files
from experiments.spark.session import Session
from experiments.traces.parquet import PARQUET, ingest
from experiments.traces.run import parts


def analyse(run: Path, master: str, out: Path, progress: Progress = silent, session: Session | None = None) -> Summary:
    """Analyse a run and write summary.json, CSV tables and figures into `out`.

    A session that the caller started is used and left running. Raises BadRun, NoJava or SparkFailed.
    """
    from experiments.report import figures  # matplotlib takes most of a second

    found = parts(run)
    verdict = files.read_verdict(run)
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with nullcontext(session) if session else Session(master) as spark:
        ingested = ingest(run, lambda done, total: progress("reading traces", done, total))
        read = time.monotonic()
        progress("starting Spark", 0, 1)
        running = spark.get()
        ready = time.monotonic()
        counts = count(running, run / PARQUET, found, progress)
    counted = time.monotonic()
    summary = summarise(found, ingested, counts)
    summary.files = files.write(summary, out)
    progress("drawing figures", 0, 1)
    summary.files += figures.draw(summary, out)
    progress("drawing figures", 1, 1)
    summary.elapsed_s = {
        "ingest": round(read - started, 2),
        "wait_for_spark": round(ready - read, 2),
        "queries": round(counted - ready, 2),
        "figures": round(time.monotonic() - counted, 2),
        "total": round(time.monotonic() - started, 2),
    }
    if verdict is not None:
        summary.add_verdict(verdict)
    files.write_summary(summary, out)
    return summary
