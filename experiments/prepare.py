"""Makes the class archive, by analysing a small run of every kind of row while Java takes notes."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from broker.java import choose
from broker.scratch import Scratch
from chord.spool import Spool
from experiments.analysis.queries import update
from experiments.spark import class_archive
from experiments.spark.java_process import SparkFailed
from experiments.spark.session import Session
from experiments.traces import examples
from experiments.traces.manifest import Store
from experiments.traces.parquet import ingest
from experiments.traces.run import parts

WRITE_TIMEOUT_S = 300.0


def prepare() -> Path:
    """Make the archive for the Java that would be chosen now; return its path. Raises NoJava or SparkFailed."""
    archive = class_archive.path(choose(os.environ))
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = archive.with_suffix(f".{os.getpid()}")
    with Scratch("prepare") as directory:
        run = Path(directory)
        _write_run(run)
        ingest(run)
        with Session(java_options=class_archive.option_to_make(fresh)) as session:
            update(session.get(), Store(run), [part.info for part in parts(run)])
            session.stop(WRITE_TIMEOUT_S)
    if not fresh.exists():
        raise SparkFailed(f"Java wrote no class archive to {archive.parent}; analyses work without one")
    return fresh.replace(archive)


def _write_run(run: Path) -> None:
    """One row of every kind."""
    replace(examples.RUN, kill_us=1).save(run)
    spool = Spool(run / "traces", "prepare")
    for row in (examples.LOOKUP, examples.DELIVERY, examples.PUBLICATION, examples.EVENT):
        spool.append(row)
    spool.close()
