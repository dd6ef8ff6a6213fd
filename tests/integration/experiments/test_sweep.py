"""A sweep on local processes leaves a run that says of every cell what it was, and an interrupted one leaves nobody."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

import pytest

from chord.trace import LookupTrace
from experiments.traces.run import Part, parts
from experiments.traces.spools import Damage, Row, read_spool
from pubsub.trace import DeliveryTrace
from tests.descendants import command_line, descendants
from tests.integration.experiments.command import complaints, started
from tests.waiting import eventually

DEADLINE_S = 150.0
GONE_S = 2.0


def rows(part: Part) -> list[Row]:
    """Every row of a part, which must be whole."""
    damage = Damage()
    found = [row for path in part.spools() for row in read_spool(path, damage)]
    assert damage == Damage()
    return found


PLAN = """
title = "A tiny sweep"

[[sweep]]
where = ["local", "sim"]
nodes = [1, 3]
lookups = 40

[[sweep]]
where = "static"
nodes = 64
successors = 0
lookups = 1000

[[sweep]]
nodes = 3
dissemination = ["direct", "brokered"]
zones = 1
replicas = 1
publishers = 2
subscribers = 1
samples = 10
payload_bytes = 300

[[sweep]]
nodes = 3
lookups = 20
lookup_rate = 20
mode = "recursive"
faults = "killed"

[[faults.killed]]
kind = "kill"
at_s = 0.3
target = "node:1"
"""

LOOKUPS = {
    f"{place}-n000{size}-seed1": ("live" if place == "local" else place, size)
    for place in ("local", "sim")
    for size in (1, 3)
}


def test_a_sweep_leaves_a_run_of_each_cell_and_does_nothing_the_second_time(tmp_path: Path) -> None:
    """As many rows as were asked for, each lookup a walk, each sample once; nothing on standard error."""
    run, plan = tmp_path / "run", tmp_path / "tiny.toml"
    plan.write_text(PLAN)
    with started("sweep", str(plan), "--out", str(run), temporary=tmp_path / "tmp") as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, complaints(stderr)) == (0, ""), stdout
    assert stdout == f"{run}: 8 of 8 cells done; python -m experiments analyse {run}\n"
    assert list((tmp_path / "tmp").iterdir()) == []
    found = {part.info.cell: part for part in parts(run)}
    for name, (source, size) in LOOKUPS.items():
        check_lookups(found.pop(name), source, size)
    for mode in ("direct", "brokered"):
        check_samples(found.pop(f"local-n0003-{mode}-p002-s001-300b-seed1"), mode)
    check_killed(found.pop("local-n0003-recursive-killed-seed1"))
    static = found.pop("static-n0064-r0-seed1")
    assert (static.info.source, static.info.ring_size) == ("static", 64)
    assert (static.traces.parent / "aggregates.parquet").is_file()
    assert found == {}

    with started("sweep", str(plan), "--out", str(run), "--json", temporary=tmp_path / "tmp") as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, complaints(stderr)) == (0, "")
    told = json.loads(stdout)
    assert (told["plan"], told["done_before"], len(told["cells"])) == ("tiny", 8, 8)
    assert {cell["state"] for cell in told["cells"]} == {"done"}


def check_lookups(part: Part, source: str, size: int) -> None:
    """Forty of them, all walks, through each node."""
    assert (part.info.source, part.info.ring_size, part.info.dissemination) == (source, size, None)
    lookups = [row for row in rows(part) if isinstance(row, LookupTrace)]
    assert [row.outcome for row in lookups] == ["ok"] * 40
    assert {row.mode for row in lookups} == {"iterative"}
    addresses = {row.hop_list[0].address for row in lookups}
    assert len(addresses) == size
    # An arc may be so short that no name falls into it.
    assert {row.owner_address for row in lookups} <= addresses


def check_samples(part: Part, mode: str) -> None:
    """Ten of each publisher at the subscriber."""
    info = part.info
    assert (info.dissemination, info.publishers, info.subscriber_count, info.clients) == (mode, 2, 1, 3)
    assert info.payload_bytes == 300
    samples = [row for row in rows(part) if isinstance(row, DeliveryTrace)]
    assert {row.mode for row in samples} == {mode}
    assert info.subscribers is not None
    ((subscriber, told),) = info.subscribers.items()
    got = Counter((row.subscriber, row.topic, row.publisher) for row in samples)
    assert sorted(got.values()) == [10, 10]
    assert {(name, topic) for name, topic, _ in got} == {(subscriber, told.topics[0])}


def check_killed(part: Part) -> None:
    """Told in run.json; the lookups go on."""
    assert part.info.faults is not None
    (fault,) = part.info.faults
    assert (fault["kind"], fault["what"]) == ("kill", "node")
    assert part.info.kill_us == fault["at_us"]
    lookups = [row for row in rows(part) if isinstance(row, LookupTrace) and row.mode == "recursive"]
    assert sum(row.outcome == "ok" for row in lookups) >= 20
    assert all(row.start_us < fault["at_us"] for row in lookups if row.owner_address == fault["target"])


def test_a_second_sweep_is_kept_out_of_the_directory_of_a_first(tmp_path: Path) -> None:
    """It is a matter of usage, and disturbs nothing."""
    run = tmp_path / "run"
    arguments = ["sweep", "local", "--size", "2", "--clients", "", "--lookups", "1000000", "--out", str(run)]
    with started(*arguments, temporary=tmp_path / "first") as first:
        eventually((run / "local-n0002-seed1" / "run.json").exists, DEADLINE_S)
        with started(*arguments, temporary=tmp_path / "second") as second:
            stdout, stderr = second.communicate(timeout=DEADLINE_S)

        assert (second.returncode, stdout) == (2, "")
        assert stderr.startswith(f"error: another sweep (process {first.pid}) is at work in {run}; wait for it")
        assert first.poll() is None
        first.send_signal(signal.SIGINT)
        assert first.wait(DEADLINE_S) == 128 + signal.SIGINT


@pytest.mark.parametrize(
    ("number", "arguments", "moment"),
    [
        (signal.SIGINT, ["--sizes", "4", "--clients", "", "--lookups", "1000000"], b"chord.cli"),
        (signal.SIGTERM, ["--sizes", "", "--clients", "4"], b"experiments.sweep.roles"),
    ],
)
def test_a_sweep_takes_its_processes_with_it_when_it_is_interrupted(
    tmp_path: Path, number: signal.Signals, arguments: list[str], moment: bytes
) -> None:
    """Exit code 130 or 143, one line, and no temporary file."""
    with started("sweep", *arguments, "--out", str(tmp_path / "run"), temporary=tmp_path / "tmp") as process:
        eventually(lambda: sum(moment in command_line(each) for each in descendants(process.pid)) == 4, DEADLINE_S)
        below = descendants(process.pid)

        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, stdout) == (128 + number, "")
    assert complaints(stderr) == "interrupted; what was started has ended\n"
    eventually(lambda: not any(map(command_line, below)), GONE_S, "the end of every process")
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sizes", "four"], "error: local: sweep[0].nodes: expected a whole number like 8 or 2^10"),
        (["--clients", "3"], "error: --clients: expected even numbers, half publishers and half subscribers; seen 3\n"),
        (["--sizes", "", "--clients", ""], "error: nothing to sweep: the options leave no block of the plan\n"),
        (["nonsense"], "error: there is no plan 'nonsense'; there are churn, "),
        (["--where", "static", "--mode", "recursive"], "error: nothing to sweep: none of the "),
    ],
)
def test_a_sweep_that_nobody_can_make_is_a_matter_of_usage(tmp_path: Path, arguments: list[str], said: str) -> None:
    """One line on standard error, exit code 2, and no directory."""
    with started("sweep", *arguments, "--out", str(tmp_path / "run"), temporary=tmp_path / "tmp") as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, stdout) == (2, "")
    assert stderr.startswith(said)
    assert stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
