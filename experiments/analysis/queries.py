"""From raw rows to counts, side by side on one Spark session: new rows are refined, counted, and added to the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from experiments.analysis import counted, deliveries, keys, lookups, moments, paths, silver, timeline
from experiments.analysis.schemas import OF_KEYS
from experiments.analysis.state import State, load, save
from experiments.traces.compacting import compact
from experiments.traces.manifest import STATE, Store
from experiments.traces.run import RunInfo
from experiments.traces.schema import TABLES

AT_ONCE = 3

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

Made = TypeVar("Made")


def silent(what: str, done: int, total: int) -> None:
    """Progress for nobody."""


def due(store: Store) -> bool:
    """Whether there are rows that are not counted yet."""
    return any(store.manifest.pending.values())


def update(spark: SparkSession, store: Store, infos: Sequence[RunInfo], progress: Progress = silent) -> State:
    """Refine and count what is pending, add it to what was counted, and keep both; everything that is counted now."""
    before = load(store)
    manifest = store.manifest
    waiting = [table for table in TABLES if manifest.pending[table]]
    if not waiting:
        return before
    manifest.generation += 1
    refining = {table: _refining(spark, store, table) for table in waiting}
    fresh = _side_by_side("refining rows", refining, progress)
    frames = {table: silver.read(spark, store, table, list(fresh.get(table, ()))) for table in TABLES}
    folder = store.folder / STATE / f"{manifest.generation:06d}"
    folder.mkdir(parents=True)
    state = counted_with(spark, frames, infos, before, folder, progress, [table for table in waiting if fresh[table]])
    for table in waiting:
        manifest.silver[table].update(fresh[table])
        manifest.pending[table] = []
    save(state, folder)
    manifest.state = folder.name
    compact(store)
    store.save()
    return state


def counted_with(
    spark: SparkSession,
    frames: Mapping[str, DataFrame],
    infos: Sequence[RunInfo],
    before: State,
    folder: Path,
    progress: Progress,
    tables: Sequence[str],
) -> State:
    """What is counted of these rows and of those before. What is known of each key goes into `folder`."""
    jobs: dict[str, Callable[[], pa.Table]] = {
        name: frame.toArrow for name, frame in _queries(spark, frames, infos, tables).items()
    }
    if "lookup" in tables:
        jobs["keys"] = lambda: keys.write(keys.merged(spark, keys.counted(frames["lookup"]), before.folder), folder)
    else:
        keys.carry(before.folder, folder)
    found = _side_by_side("counting rows", jobs, progress)
    found.pop("keys", None)
    tables_now = {
        name: counted.merged(name, [before.tables[name], found[name]]) if name in found else before.tables[name]
        for name in counted.TABLES
    }
    state = State(tables_now, before.of_keys, folder)
    if "lookup" in tables:
        most = counted.TABLES["slowest"]
        assert isinstance(most, counted.Longest)
        least = lookups.least_of_longest(state.tables["lookup_latency"].to_pylist(), most.most)
        every = spark.read.parquet(str(folder / keys.FOLDER))
        last: dict[str, Callable[[], pa.Table]] = {
            "slowest": lambda: paths.slowest(spark, frames["lookup"], least),
            "hottest": keys.hottest(every).toArrow,
            "owned": keys.owned(every).toArrow,
            "consistency": keys.consistency(every).toArrow,
        }
        ended = _side_by_side("counting keys", last, progress)
        state.tables["slowest"] = counted.merged("slowest", [before.tables["slowest"], ended.pop("slowest")])
        state.of_keys = {name: table.cast(OF_KEYS[name]) for name, table in ended.items()}
    return state


def _refining(spark: SparkSession, store: Store, table: str) -> Callable[[], dict[str, int]]:
    return lambda: silver.refine(spark, store, table)


def _queries(
    spark: SparkSession, frames: Mapping[str, DataFrame], infos: Sequence[RunInfo], tables: Sequence[str]
) -> dict[str, DataFrame]:
    """What is counted of the tables that have new rows, by the name of what it is added to."""
    lookup, delivery, event = frames["lookup"], frames["delivery"], frames["event"]
    kill_us = by_run({info.run: info.kill_us for info in infos})
    started_us = by_run({info.run: info.started_us for info in infos})
    found: dict[str, DataFrame] = {}
    if "lookup" in tables:
        found["cells"] = lookups.cells(lookup, kill_us)
        found["lookup_latency"] = lookups.latencies(lookup)
        found["edges"] = paths.edges(lookup)
    if "delivery" in tables:
        primary_kill_us = by_run({info.run: info.primary_kill_us for info in infos})
        found["blocks"] = deliveries.blocks(delivery, kill_us, primary_kill_us)
        found["by_subscriber"] = deliveries.latencies(delivery, "subscriber")
        found["by_topic"] = deliveries.latencies(delivery, "mode", "topic")
    if "publication" in tables:
        found["publications"] = deliveries.publications(frames["publication"])
    if set(tables) - {"publication"}:
        found["seconds"] = timeline.seconds(event, delivery, lookup, started_us)
    after = moments.after(spark, infos, lookup, event) if {"lookup", "event"} & set(tables) else None
    if after is not None:
        found["after"] = after
    return found


def by_run(values: Mapping[str, int | None]) -> Column:
    """A column with the value of each row's run, null where there is none."""
    if len(set(values.values())) == 1:
        return f.lit(next(iter(values.values()))).cast("bigint")
    known = [item for run, value in values.items() if value is not None for item in (f.lit(run), f.lit(value))]
    if not known:
        return f.lit(None).cast("bigint")
    return f.try_element_at(f.create_map(*known), f.col("run")).cast("bigint")


def _side_by_side(what: str, jobs: Mapping[str, Callable[[], Made]], progress: Progress) -> dict[str, Made]:
    """What every job yields. Small queries leave cores idle, so a few run at once."""
    made: dict[str, Made] = {}
    progress(what, 0, len(jobs))
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="query")
    try:
        running = {pool.submit(job): name for name, job in jobs.items()}
        for done in as_completed(running):
            made[running[done]] = done.result()
            progress(what, len(made), len(jobs))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return made
