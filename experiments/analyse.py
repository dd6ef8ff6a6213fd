"""The analysis of runs: spools to raw rows, those to rows that count once, those to counts, and these to gold tables,
a Summary and its files.

Java starts while the spools are read, unless nothing is new; nothing but counts comes back from it to this process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from experiments.analysis import gold
from experiments.analysis.counts import Counts, counts, together
from experiments.analysis.queries import Progress, due, silent, update
from experiments.analysis.state import State, load
from experiments.analysis.summarise import summarise
from experiments.analysis.summary import Summary
from experiments.folders import alone, made, once
from experiments.report import files
from experiments.spark.answers import java_answers
from experiments.spark.session import Session
from experiments.traces.changes import changes
from experiments.traces.damaged import from_traces, undamaged
from experiments.traces.manifest import Store, folder_of
from experiments.traces.parquet import Ingested, ingest
from experiments.traces.run import BadRun, Part, parts

LARGE_BYTES = 500_000_000
"""From so many bytes of traces on, Java's slower and better compiler is worth its time."""

LOCK_FILE = ".analysis.lock"
AT_WORK = "wait for it, or end it"


@dataclass(slots=True)
class _Run:
    """One run directory on its way through the analysis."""

    path: Path
    found: list[Part]
    ingested: Ingested | None = None
    state: State | None = None


class _Spark:
    """The session of an analysis: one that the caller started, or one that is started once it is needed."""

    def __init__(
        self, stack: ExitStack, session: Session | None, master: str, conf: Mapping[str, str], locks: Sequence[int]
    ) -> None:
        self.waited_s = 0.0
        self._locks = locks
        self._stack = stack
        self._session = session
        self._settings = master, conf

    def start(self, large: bool) -> None:
        """Begin to start it, unless that was done."""
        if self._session is None:
            master, conf = self._settings
            self._session = self._stack.enter_context(Session(master, conf=conf, large=large, inherited=self._locks))

    def get(self) -> SparkSession:
        """Wait for it."""
        self.start(large=False)
        assert self._session is not None
        began = time.monotonic()
        running = self._session.get()
        self.waited_s += time.monotonic() - began
        return running


def analyse(
    runs: Sequence[Path],
    master: str,
    out: Path,
    progress: Progress = silent,
    session: Session | None = None,
    conf: Mapping[str, str] | None = None,
) -> Summary:
    """Analyse runs and write gold tables, summary.json, CSV tables and figures into `out`.

    A session that the caller started is used and left running. Raises BadRun, NoJava, SparkFailed or Damaged, and
    LocalProtocolError while another process analyses one of the runs, or into `out`.
    """
    once(runs)
    all_runs = [_Run(path, parts(path)) for path in runs]
    _refuse_twins([part for run in all_runs for part in run.found])
    with _alone(runs, out) as locks:
        return _analysed(all_runs, master, out, progress, session, conf or {}, locks)


@contextmanager
def _alone(runs: Sequence[Path], out: Path) -> Iterator[list[int]]:
    """Hold the locks of all that an analysis writes; yields their descriptors. Raises LocalProtocolError or BadRun.

    A run that this process may not write is as it was analysed before, and stays so.
    """
    stores = [path for path in map(folder_of, runs) if os.access(path, os.W_OK)]
    folders = {path.resolve(): path for path in (*stores, made(out))}
    with ExitStack() as stack:
        yield [stack.enter_context(alone(path, "analysis", AT_WORK, LOCK_FILE)) for path in folders.values()]


def _analysed(
    all_runs: Sequence[_Run],
    master: str,
    out: Path,
    progress: Progress,
    session: Session | None,
    conf: Mapping[str, str],
    locks: Sequence[int],
) -> Summary:
    from experiments.report import figures  # matplotlib takes most of a second

    started = time.monotonic()
    found = [part for run in all_runs for part in run.found]
    verdict = files.read_verdict(all_runs[0].path) if len(all_runs) == 1 else None
    with ExitStack() as stack:
        spark = _Spark(stack, session, master, conf, locks)
        read_s = _read(all_runs, spark, progress)
        counted = _count(all_runs, spark, out, progress)
    ready = time.monotonic()
    summary = summarise(found, _together(all_runs), counted)
    summary.files = files.write(summary, out)
    progress("drawing figures", 0, 1)
    summary.files += figures.draw(summary, out)
    progress("drawing figures", 1, 1)
    summary.elapsed_s = {
        "ingest": round(read_s, 2),
        "wait_for_spark": round(spark.waited_s, 2),
        "queries": round(ready - started - read_s - spark.waited_s, 2),
        "figures": round(time.monotonic() - ready, 2),
        "total": round(time.monotonic() - started, 2),
    }
    if verdict is not None:
        summary.add_verdict(verdict)
    files.write_summary(summary, out)
    return summary


def _read(runs: Sequence[_Run], spark: _Spark, progress: Progress) -> float:
    """Bring the raw rows of each run up to date, while Java starts if there are any new ones; seconds that took."""
    began = time.monotonic()
    stores = [Store(run.path) for run in runs]
    plans = [changes(run.found, store.manifest) for run, store in zip(runs, stores, strict=True)]
    fresh = sum(change.bytes for plan in plans for change in plan.read)
    if fresh or any(map(due, stores)):
        spark.start(large=fresh + sum(map(_pending_bytes, stores)) >= LARGE_BYTES)
    for run in runs:
        folder = folder_of(run.path)
        with undamaged(folder, from_traces(folder)):
            run.ingested = ingest(run.path, lambda done, total: progress("reading traces", done, total))
    return time.monotonic() - began


def _count(runs: Sequence[_Run], spark: _Spark, out: Path, progress: Progress) -> Counts:
    """Bring the counts of each run up to date, and write its gold tables."""
    every = []
    for run in runs:
        store = Store(run.path)
        infos = [part.info for part in run.found]
        then = from_traces(store.folder)
        with undamaged(store.folder, then):
            if due(store):
                progress("starting Spark", 0, 1)
                with java_answers("the analysis ended", f"start the command again; if that ends alike, {then}"):
                    run.state = update(spark.get(), store, infos, progress)
            else:
                run.state = load(store)
        every.append(counts(run.state))
        gold.write(out, run.path, run.found, store.manifest, run.state, every[-1])
    return together(every)


def _pending_bytes(store: Store) -> int:
    return sum((store.folder / name).stat().st_size for names in store.manifest.pending.values() for name in names)


def _refuse_twins(found: Sequence[Part]) -> None:
    """Raise BadRun if two parts are named alike, or are one and the same."""
    names: dict[str, Part] = {}
    for part in found:
        other = names.setdefault(part.info.run, part)
        if other is not part and other.traces.resolve() == part.traces.resolve():
            raise BadRun(f"{part.traces.parent} is given twice: by itself and with a folder that it lies in; give one")
        if other is not part:
            raise BadRun(
                f"{other.traces.parent} and {part.traces.parent} are both named {part.info.run!r}; "
                "analyse them apart, or give each run.json a `run` of its own"
            )


def _together(runs: Sequence[_Run]) -> Ingested:
    total = Ingested()
    for run in runs:
        assert run.ingested is not None
        total.rows = {table: total.rows[table] + rows for table, rows in run.ingested.rows.items()}
        total.files += run.ingested.files
        total.bytes_read += run.ingested.bytes_read
        total.damage.add(run.ingested.damage)
    return total
