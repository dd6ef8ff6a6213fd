"""An interrupted command ends everything that it started, whatever that was doing, and says so in one line."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from chord.spool import Spool
from experiments.report.files import read_verdict
from experiments.traces import examples
from experiments.traces.run import load
from tests.descendants import alive, command_line, descendants
from tests.integration.experiments.command import started
from tests.waiting import eventually

DEADLINE_S = 60.0
GONE_S = 2.0
SAID = "interrupted; what was started has ended\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with rows enough for Spark to be counting for a while."""
    replace(examples.RUN, run="r").save(tmp_path / "run")
    spool = Spool(tmp_path / "run" / "traces", "all")
    for sequence in range(1, 20_001):
        spool.append(replace(examples.DELIVERY, sequence=sequence))
    spool.close()
    return tmp_path / "run"


def starts_java(java: list[int], _scratch: Path | None) -> bool:
    """Spark's script asks a first Java how to start the second one."""
    return bool(java)


def java_answers(_java: list[int], scratch: Path | None) -> bool:
    """Java has told where it listens; the session is being made."""
    return scratch is not None and (scratch / "gateway").exists()


def spark_works(_java: list[int], scratch: Path | None) -> bool:
    """Spark has made its folders: the first query, which warms it, is under way."""
    return scratch is not None and any(scratch.glob("blockmgr-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", [starts_java, java_answers, spark_works])
def test_analyse_takes_java_with_it_when_it_is_interrupted(
    run: Path, tmp_path: Path, moment: Callable[[list[int], Path | None], bool], number: signal.Signals
) -> None:
    """Exit code 130 or 143, one line, no process that outlives the command, no temporary file."""
    temporary = tmp_path / "tmp"
    with started("analyse", str(run), temporary=temporary) as process:
        eventually(lambda: moment(java_below(process.pid), scratch(temporary)), DEADLINE_S, moment.__name__)
        below = descendants(process.pid)
        assert below

        process.send_signal(number)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, stdout, stderr) == (128 + number, "", SAID)
    assert [each for each in below if alive(each)] == []
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "part"), [(signal.SIGINT, b"chord.cli"), (signal.SIGTERM, b"experiments.demo.workers")]
)
def test_demo_leaves_a_run_that_says_what_it_is_when_it_is_interrupted(
    tmp_path: Path, number: signal.Signals, part: bytes
) -> None:
    """run.json and a verdict beside the traces; no process, no temporary file, and one line on standard error."""
    temporary, runs = tmp_path / "tmp", tmp_path / "runs"
    with started("demo", "--runs", str(runs), temporary=temporary) as process:
        eventually(lambda: sum(part in command_line(each) for each in descendants(process.pid)) > 3, DEADLINE_S)
        below = descendants(process.pid)

        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    (run,) = runs.iterdir()
    assert (process.returncode, stderr) == (128 + number, SAID)
    assert "ended early; its traces are in " in stdout
    eventually(lambda: not any(map(alive, below)), GONE_S, "the end of every process")
    assert list(temporary.iterdir()) == []
    assert load(run / "run.json").run == run.name
    verdict = read_verdict(run)
    assert verdict is not None and verdict.outcome == "interrupted"
    assert any((run / "traces").iterdir())


def scratch(temporary: Path) -> Path | None:
    """Where the Spark session keeps its files."""
    return next(temporary.glob("ringcast-spark-*"), None)


def java_below(parent: int) -> list[int]:
    """The Java processes below `parent` that run Spark's classes."""
    return [each for each in descendants(parent) if b"org.apache.spark" in command_line(each)]
