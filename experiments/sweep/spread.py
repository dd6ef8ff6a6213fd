"""Static cells spread over the cores of Spark: a job a cell, a task a block; the next cell begins when cores fall free.

The tasks hear of blocks and tell outcomes, so that what a cell leaves depends neither on the cores nor on their order.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession

from chord.errors import LocalProtocolError
from experiments.spark.answers import java_answers
from experiments.spark.java_process import SparkFailed
from experiments.spark.session import Session
from experiments.sweep import static
from experiments.sweep.blocks import Outcome, attempt, blocks_of
from experiments.sweep.cells import Cell, CellFailed
from experiments.sweep.course import conclude
from experiments.sweep.description import describe_cell
from experiments.sweep.directory import SweepDirectory
from experiments.sweep.estimate import estimate_s
from experiments.sweep.masters import cores_a_task
from experiments.traces.run import RunInfo
from sim.static.report import Options

TASK_CPUS = "spark.task.cpus"
POLL_S = 0.2
MOST_CELLS = 64
"""At a time, each with a thread that waits for it."""

ROW = "block long, outcome binary"

UNFINISHED = "static cells did not all run"
GO_ON = "the same command goes on with them"


def spread(
    directory: SweepDirectory,
    cells: Sequence[Cell],
    told: Callable[[str, float], None],
    master: str,
    conf: Mapping[str, str],
) -> dict[str, str]:
    """Run static cells; returns why cells failed, by name. `told` hears of one under way, and of estimated seconds.

    Raises NoJava or SparkFailed when Spark does not start, or goes away.
    """
    told("starting Spark", 0.0)
    settings = {TASK_CPUS: str(cores_a_task(master, cells)), **conf}
    # Java is gone first, if the sweep is interrupted: the threads that wait for it end with it.
    with ThreadPoolExecutor(MOST_CELLS, "spread") as pool, Session(master, conf=settings) as session:
        return Spreading(session.get(), pool, directory, told).run(cells)


def outcomes_of(spark: SparkSession, blocks: Sequence[Options], group: str) -> list[Outcome]:
    """What comes of some blocks, in their order, a task each, of a job group. Raises CellFailed or SparkFailed."""

    def attempted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                told = msgspec.json.encode(attempt(blocks[number]))
                yield pa.RecordBatch.from_arrays([pa.array([number]), pa.array([told])], ["block", "outcome"])

    try:
        spark.sparkContext.setJobGroup(group, group)
        rows = spark.range(0, len(blocks), 1, len(blocks)).mapInArrow(attempted, ROW).toArrow().sort_by("block")
    except Exception as error:
        raise _translated(spark, error, blocks) from None
    return [msgspec.json.decode(told, type=Outcome) for told in rows["outcome"].to_pylist()]


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A cell whose blocks Spark has."""

    cell: Cell
    folder: Path
    info: RunInfo
    began: float
    blocks: int


class Spreading:
    """The course of some static cells in one session."""

    def __init__(
        self,
        spark: SparkSession,
        pool: ThreadPoolExecutor,
        directory: SweepDirectory,
        told: Callable[[str, float], None],
    ) -> None:
        self._spark = spark
        self._pool = pool
        self._directory = directory
        self._told = told
        self._running: dict[Future[list[Outcome]], _UnderWay] = {}
        self._done_s = 0.0
        self._failed: dict[str, str] = {}

    @java_answers(UNFINISHED, GO_ON)
    def run(self, cells: Sequence[Cell]) -> dict[str, str]:
        """Run them, and return why cells failed, by name. Raises SparkFailed when Spark is gone."""
        waiting = deque(cells)
        while waiting or self._running:
            done = {under_way.cell.name: self._done(under_way) for under_way in self._running.values()}
            tasks = sum(under_way.blocks - done[under_way.cell.name] for under_way in self._running.values())
            while waiting and tasks < self._slots and len(self._running) < MOST_CELLS:
                tasks += self._begin(waiting.popleft())
            self._tell(done)
            for future in wait(self._running, POLL_S, FIRST_COMPLETED).done:
                self._conclude(future, self._running.pop(future))
        return self._failed

    @property
    def _slots(self) -> int:
        """How many tasks run at a time; a cluster may grow."""
        context = self._spark.sparkContext
        return max(1, context.defaultParallelism // int(context.getConf().get(TASK_CPUS, "1") or 1))

    def _begin(self, cell: Cell) -> int:
        """Hand a cell over; returns how many tasks it has, which are none when it fails before."""
        began, blocks = time.monotonic(), blocks_of(cell)
        try:
            folder = self._directory.begin(cell)
        except (LocalProtocolError, OSError) as error:
            self._end(cell, began, partial(_failed, error))
            return 0
        future = self._pool.submit(outcomes_of, self._spark, blocks, cell.name)
        info = describe_cell(cell, folder, "static")
        self._running[future] = _UnderWay(cell, folder, info, began, len(blocks))
        return len(blocks)

    def _done(self, under_way: _UnderWay) -> int:
        return min(under_way.blocks, _tasks_done(self._spark.sparkContext, under_way.cell.name))

    def _tell(self, done: Mapping[str, int]) -> None:
        running = list(self._running.values())
        if not running:
            return
        seconds = sum(estimate_s(each.cell) * done.get(each.cell.name, 0) / each.blocks for each in running)
        self._told(running[0].cell.name, self._done_s + seconds)

    def _conclude(self, future: Future[list[Outcome]], under_way: _UnderWay) -> None:
        error = future.exception()
        leave = partial(static.leave, under_way.cell, under_way.folder, under_way.info)
        self._end(under_way.cell, under_way.began, lambda: leave(future.result()))
        if isinstance(error, SparkFailed):
            raise error

    def _end(self, cell: Cell, began: float, outcome: Callable[[], RunInfo]) -> None:
        reason = conclude(self._directory, cell, began, outcome)
        if reason is not None:
            self._failed[cell.name] = reason
        self._done_s += estimate_s(cell)
        self._told(cell.name, self._done_s)


def _failed(error: Exception) -> RunInfo:
    """The outcome of a cell that did not get as far as Spark."""
    raise error


def _tasks_done(context: SparkContext, group: str) -> int:
    """How many tasks of a job group have ended."""
    tracker = context.statusTracker()
    jobs = [job for number in tracker.getJobIdsForGroup(group) if (job := tracker.getJobInfo(number)) is not None]
    stages = [tracker.getStageInfo(number) for job in jobs for number in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)


def _translated(spark: SparkSession, error: Exception, blocks: Sequence[Options]) -> CellFailed | SparkFailed:
    """What an exception from Spark means: that it gave up on the cell, or that it is no more."""
    try:
        alive = not spark.sparkContext._jsc.sc().isStopped()
    except Exception:  # whatever py4j raises when nobody answers
        alive = False
    if not alive:
        return SparkFailed(f"{UNFINISHED}: Spark went away; {GO_ON}")
    reason = reason_in(str(error)) or type(error).__name__
    return CellFailed(f"{block_in(str(error), blocks)}Spark gave up on it: {reason}\n{error}")


def block_in(text: str, blocks: Sequence[Options]) -> str:
    """Which block it was that a message of Spark tells of, if it names the task: there is one for each block."""
    found = re.search(r"\bTask (\d+) in stage ", text)
    if found is None or int(found[1]) >= len(blocks):
        return ""
    number = int(found[1])
    return f"block {number + 1} of {len(blocks)}, seed {blocks[number].seed}: "


def reason_in(text: str) -> str:
    """The line of a message of Spark that tells most: the exception of Python, the first cause of Java, or line one."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if any(line.startswith("Traceback ") for line in lines):
        begun = max(number for number, line in enumerate(lines) if line.startswith("Traceback "))
        ends = [line for line in lines[begun + 1 :] if not line.startswith((" ", "\t"))]
        return ends[0] if ends else lines[-1].strip()
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[:1] or lines[:1] or [""])[0].strip()
