"""Makes the class archive, by analysing a small run of every kind of row while Java takes notes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from chord.spool import Spool
from chord.trace import EventTrace, HopTrace, LookupTrace
from experiments.analysis.queries import count
from experiments.spark import class_archive
from experiments.spark.java import choose
from experiments.spark.session import SparkFailed, start, stop
from experiments.traces.parquet import PARQUET, ingest
from experiments.traces.run import RunInfo, parts
from pubsub.trace import DeliveryTrace, PublicationTrace

WRITE_TIMEOUT_S = 300.0


def prepare() -> Path:
    """Make the archive for the Java that would be chosen now; return its path. Raises NoJava or SparkFailed."""
    archive = class_archive.path(choose(os.environ))
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = archive.with_suffix(f".{os.getpid()}")
    with tempfile.TemporaryDirectory(prefix="ringcast-prepare-") as directory:
        run = Path(directory)
        _write_run(run)
        ingest(run)
        spark = start(java_options=class_archive.option_to_make(fresh))
        try:
            count(spark, run / PARQUET, parts(run))
        finally:
            stop(spark, WRITE_TIMEOUT_S)
    if not fresh.exists():
        raise SparkFailed(f"Java wrote no class archive to {archive.parent}; analyses work without one")
    return fresh.replace(archive)


def _write_run(run: Path) -> None:
    """One row of every kind."""
    info = RunInfo(
        run="prepare",
        source="static",
        cluster="c",
        ring_size=1,
        successors=1,
        bits=64,
        commit="",
        started_us=0,
        kill_us=1,
    )
    info.save(run)
    spool = Spool(run / "traces", "prepare")
    hop = HopTrace(node=1, address="", rtt_us=1, timed_out=False)
    spool.append(
        LookupTrace(
            trace_id=1,
            cluster="c",
            mode="iterative",
            origin="",
            name="",
            key=1,
            owner=1,
            owner_address="",
            outcome="ok",
            hops=1,
            timeouts=0,
            start_us=1,
            duration_us=1,
            owner_us=1,
            hop_list=[hop],
        )
    )
    spool.append(
        DeliveryTrace(
            topic="t", mode="direct", publisher="p", subscriber="s", sequence=1, published_us=1, received_us=2
        )
    )
    spool.append(PublicationTrace(topic="t", publisher="p", first=1, last=1, at_us=1))
    spool.append(EventTrace(kind="join", node=1, address="", at_us=1))
    spool.close()
