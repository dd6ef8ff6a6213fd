"""Of the many lines that Spark says when it gives a job up, a person is told the one that says why."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.sweep.blocks import blocks_of
from experiments.sweep.cells import Cell
from experiments.sweep.directory import describe, opened
from experiments.sweep.spread import Spreading, block_in, reason_in

IN_PYTHON = """
An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "x.py", line 1, in <module>
    1 / 0
ZeroDivisionError: division by zero
"""

IN_JAVA = """
Job aborted due to stage failure: Task 1 in stage 2.0 failed 1 times
	at org.apache.spark.A.b(A.scala:1)
Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)
	at org.apache.spark.C.d(C.scala:1)
Caused by: java.io.EOFException
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (IN_PYTHON, "ZeroDivisionError: division by zero"),
        (IN_JAVA, "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"),
        ("[NO_SUCH_THING] There is none.\nat all", "[NO_SUCH_THING] There is none."),
        ("", ""),
    ],
)
def test_the_line_that_says_why_is_told(text: str, reason: str) -> None:
    """The exception of Python, what caused that of Java first, or what comes first."""
    assert reason_in(text) == reason


@pytest.mark.parametrize(
    ("text", "number"),
    [(IN_JAVA, 2), ("Task 0 in stage 5.0 failed 4 times", 1), ("Task 3 in stage 5.0", None), (IN_PYTHON, None)],
)
def test_the_block_that_spark_gave_up_is_named(text: str, number: int | None) -> None:
    """With its seed, as of one that failed by itself; nothing if Spark does not say, or names a task that is none."""
    blocks = blocks_of(Cell(name="a", place="static", nodes=4, lookups=9, rings=3, seed=7))

    told = "" if number is None else f"block {number} of 3, seed {blocks[number - 1].seed}: "

    assert block_in(text, blocks) == told


def test_a_cell_that_has_no_folder_fails_before_spark_has_it(tmp_path: Path) -> None:
    """And no other with it."""
    cell = Cell(name="../victim", place="static", nodes=4, lookups=5)
    (tmp_path / "victim").mkdir()
    conf = SimpleNamespace(get=lambda _key, default: default)
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=1, getConf=lambda: conf))
    told: list[str] = []

    with (
        ThreadPoolExecutor(1) as pool,
        opened(tmp_path / "run", describe("p", "P", "", {}, []), [cell]) as directory,
    ):
        failed = Spreading(spark, pool, directory, lambda what, _done_s: told.append(what)).run([cell])

    assert list(failed) == ["../victim"]
    assert told == ["../victim"]
    assert (tmp_path / "victim").is_dir()
