"""A sweep on local processes leaves a run that says of every part what it was, and an interrupted one leaves nobody."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest

from chord.trace import LookupTrace
from experiments.traces.run import Part, parts
from experiments.traces.spools import Damage, Row, read_spool
from pubsub.trace import DeliveryTrace
from tests.descendants import command_line, descendants
from tests.integration.experiments.command import started
from tests.waiting import eventually

DEADLINE_S = 150.0
GONE_S = 2.0


def rows(part: Part) -> list[Row]:
    """Every row of a part, which must be whole."""
    damage = Damage()
    found = [row for path in part.spools() for row in read_spool(path, damage)]
    assert damage == Damage()
    return found


def test_a_sweep_leaves_lookups_of_each_ring_and_deliveries_of_each_number_of_clients(tmp_path: Path) -> None:
    """As many rows as were asked for, each lookup a walk, each sample once; nothing on standard error."""
    run = tmp_path / "run"
    asked = ["--sizes", "1,3", "--lookups", "40", "--clients", "2", "--out", str(run)]
    with started("sweep", *asked, temporary=tmp_path / "tmp") as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, stderr) == (0, "")
    assert stdout == f"{run}: 4 parts; python -m experiments analyse {run}\n"
    assert list((tmp_path / "tmp").iterdir()) == []
    found = {part.info.run: part for part in parts(run)}
    assert list(found) == ["run-ring-001", "run-ring-003", "run-brokered-002", "run-direct-002"]
    for size in (1, 3):
        part = found[f"run-ring-{size:03}"]
        assert (part.info.ring_size, part.info.clients) == (size, None)
        lookups = [row for row in rows(part) if isinstance(row, LookupTrace)]
        assert [row.outcome for row in lookups] == ["ok"] * 40
        assert {row.mode for row in lookups} == {"iterative"}
        addresses = {row.hop_list[0].address for row in lookups}
        assert len(addresses) == size
        # An arc may be so short that no name falls into it.
        assert {row.owner_address for row in lookups} <= addresses
    for mode in ("direct", "brokered"):
        part = found[f"run-{mode}-002"]
        assert part.info.clients == 2
        samples = [row for row in rows(part) if isinstance(row, DeliveryTrace)]
        assert {row.mode for row in samples} == {mode}
        got = Counter((row.subscriber, row.topic) for row in samples)
        assert part.info.subscribers is not None
        assert got == {(name, info.topics[0]): 100 for name, info in part.info.subscribers.items()}
        assert len({row.sequence for row in samples}) == 100


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

    assert (process.returncode, stdout, stderr) == (128 + number, "", "interrupted; what was started has ended\n")
    eventually(lambda: not any(map(command_line, below)), GONE_S, "the end of every process")
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sizes", "four"], "error: --sizes takes whole numbers with commas between them, like 4,8; not 'four'\n"),
        (["--clients", "3"], "error: --clients takes even numbers, half publishers and half subscribers; not 3\n"),
        (["--sizes", "", "--clients", ""], "error: nothing to sweep: neither --sizes nor --clients names a number\n"),
    ],
)
def test_a_sweep_that_nobody_can_make_is_a_matter_of_usage(tmp_path: Path, arguments: list[str], said: str) -> None:
    """One line on standard error, exit code 2, and no directory."""
    with started("sweep", *arguments, "--out", str(tmp_path / "run"), temporary=tmp_path / "tmp") as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, stdout, stderr) == (2, "", said)
    assert not (tmp_path / "run").exists()
