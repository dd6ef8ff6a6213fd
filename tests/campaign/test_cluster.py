"""`--master` and `--conf` take a real cluster: a standalone one of two workers finds what one process finds."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from chord.spool import Spool
from experiments.analyse import analyse
from experiments.analysis import gold
from experiments.analysis.gold_schema import COLUMNS
from experiments.traces import examples
from experiments.watch.windows import Windows
from tests.spark_cluster import standalone

DEADLINE_S = 60.0


def test_a_cluster_of_two_workers_finds_what_one_process_finds(tmp_path: Path) -> None:
    """The same gold tables; the workers' executors did the work, with the memory that `--conf` gave them."""
    chance = random.Random(9)
    for name in ("here", "there"):
        replace(examples.RUN, run="r", ring_size=8).save(tmp_path / name)
    spool = Spool(tmp_path / "here" / "traces", "all")
    for number in range(500):
        row = replace(examples.LOOKUP, trace_id=number, key=number % 9, hops=chance.randrange(4), start_us=number)
        spool.append(replace(row, duration_us=chance.randrange(9_000)))
    spool.close()
    (tmp_path / "there" / "traces").symlink_to(tmp_path / "here" / "traces")
    analyse([tmp_path / "here"], "local[2]", tmp_path / "one")

    with standalone(2, tmp_path / "cluster", DEADLINE_S) as master:
        command = ["analyse", str(tmp_path / "there"), "--out", str(tmp_path / "other"), "--master", master]
        command += ["--conf", "spark.executor.memory=600m", "--conf", "spark.executor.cores=1"]
        done = subprocess.run(
            [sys.executable, "-m", "experiments", *command], capture_output=True, text=True, timeout=150, check=False
        )

    assert (done.returncode, done.stderr) == (0, "")
    for table in COLUMNS:
        here, there = (sorted(map(str, gold.read(tmp_path / out, table).to_pylist())) for out in ("one", "other"))
        assert here == there, table
    executors = [path for path in (tmp_path / "cluster").rglob("stderr") if "Finished task" in path.read_text()]
    assert len(executors) == 2


def test_a_cluster_of_two_workers_counts_what_grows(tmp_path: Path) -> None:
    """`--watch` on the workers: each lookup once, in its window, with the tasks of its batches on both of them."""
    run = tmp_path / "run"
    replace(examples.RUN, run="r", source="live", ring_size=8, started_us=1).save(run)
    spool = Spool(run / "traces", "all")
    for number in range(500):
        spool.append(replace(examples.LOOKUP, trace_id=number, hops=number % 4, start_us=1 + number * 100_000))
    spool.close()
    shutil.copy(next((run / "traces").glob("*.trace")), run / "traces" / "again.trace")

    with standalone(2, tmp_path / "cluster", DEADLINE_S) as master:
        command = ["analyse", str(run), "--watch", "--until-idle", "5", "--master", master]
        command += ["--conf", "spark.executor.memory=600m", "--conf", "spark.executor.cores=1"]
        done = subprocess.run(
            [sys.executable, "-m", "experiments", *command], capture_output=True, text=True, timeout=170, check=False
        )

    assert (done.returncode, done.stderr) == (0, "")
    assert "500 rows counted, 0 late, 500 there already" in done.stdout
    windows = Windows(run / "analysis" / "watch", 10_000_000).latest(9)
    assert [(row.start_us, row.count, sum(row.hops.values())) for row in windows] == [
        (start * 10_000_000, 100, 100) for start in range(5)
    ]
    executors = [path for path in (tmp_path / "cluster").rglob("stderr") if "Finished task" in path.read_text()]
    assert len(executors) == 2
