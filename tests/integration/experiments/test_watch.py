"""`analyse --watch` on a run that grows: each row once, across kill -9, and in sight soon after it was written."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from chord.spool import Spool
from experiments.traces import examples
from experiments.watch.place import left_out
from tests.descendants import alive, command_line, descendants
from tests.integration.experiments.command import started
from tests.waiting import eventually

DEADLINE_S = 60.0
GONE_S = 10.0
HOUR_US = 3_600_000_000
WINDOW_US = 2_000_000


class Growing:
    """A run whose rows are written one by one, and what its windows have to say of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written: Counter[int] = Counter()
        replace(examples.RUN, run="r", source="live", started_us=time.time_ns() // 1000).save(path)
        self._spool = Spool(path / "traces", "all")
        self._number = 0

    def close(self) -> None:
        """Let go of the spool file, which stays as one of a process that was killed."""
        self._spool.abandon()

    def write(self, count: int) -> None:
        """Lookups that begin now."""
        for _ in range(count):
            self._number += 1
            start_us = time.time_ns() // 1000
            self._spool.append(replace(examples.LOOKUP, trace_id=self._number, start_us=start_us))
            self.written[start_us // WINDOW_US * WINDOW_US] += 1
        self._spool.flush()

    def write_late(self) -> None:
        """A lookup of an hour ago."""
        self._spool.append(replace(examples.LOOKUP, trace_id=0, start_us=time.time_ns() // 1000 - HOUR_US))
        self._spool.flush()

    def copy(self) -> None:
        """The same rows under another name."""
        (spool,) = (self.path / "traces").glob("all-*.part")
        shutil.copy(spool, self.path / "traces" / "copy.trace")

    def seen(self) -> Counter[int]:
        """Rows of every window, by its start."""
        rows = [pq.read_table(path).select(["window_start", "count"]).to_pylist() for path in self._windows()]
        return Counter({round(row["window_start"].timestamp() * 1e6): row["count"] for each in rows for row in each})

    def _windows(self) -> list[Path]:
        return sorted((self.path / "analysis" / "watch" / "windows").glob("*.parquet"))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Growing]:
    """A run that has begun."""
    growing = Growing(tmp_path / "run")
    yield growing
    growing.close()


def watch(run: Path, *more: str) -> list[str]:
    return ["analyse", str(run), "--watch", "--window", "2", *more]


def test_each_row_counts_once_across_a_kill(run: Growing, tmp_path: Path) -> None:
    """Rows before the kill, under way at it, while nobody watches, and after it; a copy of them all, and a late one."""
    with started(*watch(run.path, "--json"), temporary=tmp_path / "first") as process:
        run.write(20)
        eventually(lambda: run.seen() == run.written, DEADLINE_S, "the first rows in their windows")
        below = descendants(process.pid)
        run.write(20)
        process.kill()
        run.write(20)
    with started(*watch(run.path, "--json", "--until-idle", "5"), temporary=tmp_path / "second") as process:
        eventually(lambda: run.seen() == run.written, DEADLINE_S, "every row in its window")
        run.write(5)
        run.copy()
        run.write_late()
        stdout, stderr = process.communicate(timeout=2 * DEADLINE_S)

    assert process.returncode == 0, stderr
    assert run.seen() == run.written
    left = left_out(run.path / "analysis" / "watch")
    assert (left.late, left.twice) == (1, 65)
    assert "1 late, 65 there already" in stderr
    lines = [json.loads(line) for line in stdout.splitlines()]
    last = {line["window_start"]: line["count"] for line in lines}
    assert set(last.values()) <= set(run.written.values()) and lines[0]["run"] == "r"
    eventually(lambda: not any(map(alive, below)), GONE_S, "the end of the first Java")
    assert list((tmp_path / "second").iterdir()) == []


def test_an_interrupted_watch_takes_java_with_it(run: Growing, tmp_path: Path) -> None:
    """While it counts: exit code 130, one line, no process, no temporary file."""
    run.write(3)
    with started(*watch(run.path, "--json"), temporary=tmp_path / "tmp") as process:
        eventually(lambda: run.seen() == run.written, DEADLINE_S, "the rows in their windows")
        below = descendants(process.pid)

        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=GONE_S)

    assert (process.returncode, stderr) == (
        130,
        f"{run.path}: starting Spark\ninterrupted; what was started has ended\n",
    )
    assert [each for each in below if alive(each)] == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_java_that_dies_is_told_in_a_sentence(run: Growing, tmp_path: Path) -> None:
    """Exit code 1 and what to do, no traceback."""
    run.write(3)
    with started(*watch(run.path, "--json"), temporary=tmp_path / "tmp") as process:
        eventually(lambda: run.seen() == run.written, DEADLINE_S, "the rows in their windows")
        for each in descendants(process.pid):
            if b"pyspark-shell" in command_line(each):
                os.kill(each, signal.SIGKILL)
        _, stderr = process.communicate(timeout=DEADLINE_S)

    assert process.returncode == 1
    assert stderr == (
        f"{run.path}: starting Spark\n"
        "error: the stream ended: Spark's Java process went away; start the command again to go on\n"
    )
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_run_may_come_later(tmp_path: Path) -> None:
    """Nothing is written into a folder that the run may want empty; and waiting ends when it was asked to."""
    with started(*watch(tmp_path / "run", "--until-idle", "1"), temporary=tmp_path / "tmp") as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, stderr) == (0, "")
    assert "waiting for it to begin" in " ".join(stdout.split())
    assert not (tmp_path / "run").exists()
