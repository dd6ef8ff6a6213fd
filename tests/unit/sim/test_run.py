"""`python -m sim ring`: its exit codes, its output, and that one seed is one run, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from chord.trace import SCHEMA_VERSION
from experiments.traces import run as contract
from sim.run import Options, Report, run
from tests.spools import read_rows
from tests.unit.sim.commands import sim


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_one_seed_is_one_run_under_any_hash_seed(tmp_path):
    """The same seed gives the same traces and run.json byte for byte, also under another PYTHONHASHSEED."""
    arguments = ("--nodes", "24", "--crashes", "2", "--lookups", "100", "--json")

    first = sim("ring", *arguments, "--trace", str(tmp_path / "a"), PYTHONHASHSEED="1")
    again = sim("ring", *arguments, "--trace", str(tmp_path / "b"), PYTHONHASHSEED="2")
    other = sim("ring", *arguments, "--seed", "2", "--trace", str(tmp_path / "c"))

    assert first.returncode == again.returncode == other.returncode == 0, first.stdout + first.stderr
    assert first.stdout == again.stdout
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert files(tmp_path / "a").keys() == files(tmp_path / "c").keys()
    assert files(tmp_path / "a") != files(tmp_path / "c")


def test_a_run_is_described_as_the_analysis_expects(tmp_path):
    """run.json keeps the contract of experiments, and the traces are spool files: a header, lookups and events."""
    assert sim("ring", "--nodes", "8", "--lookups", "20", "--seed", "3", "--trace", str(tmp_path)).returncode == 0

    (part,) = contract.parts(tmp_path)

    assert (part.info.source, part.info.ring_size, part.info.seed) == ("sim", 8, 3)
    (spool,) = part.spools()
    header, *rows = list(read_rows(spool))
    assert header == ["header", SCHEMA_VERSION, "sim", 0]
    kinds = [row[0] for row in rows]
    assert kinds.count("lookup") == 20
    assert set(kinds) == {"lookup", "event"}


def test_a_run_is_shown_as_a_table():
    """Without --json the run is a table: when the ring was ideal, and mean hops beside half log2 N."""
    shown = sim("ring", "--nodes", "6", "--lookups", "10", "--crashes", "1")

    assert shown.returncode == 0
    for label in ("ideal ring after", "again after 1 crash", "mean hops", "half log2 N", "wrong owners", "messages"):
        assert label in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--nodes", "0"), "--nodes"),
        (("--nodes", "4", "--crashes", "4"), "4 of 4 nodes cannot crash and leave one to ask"),
        (("--seed", "-1"), "--seed"),
        (("--nonsense",), "--nonsense"),
    ],
)
def test_a_wrong_option_is_a_usage_error(arguments, complaint):
    """What cannot be run is refused with exit code 2 and the reason."""
    refused = sim("ring", *arguments, COLUMNS="200")

    assert refused.returncode == 2
    assert complaint in refused.stderr


def test_a_run_is_not_overwritten(tmp_path):
    """A directory that holds a run already is refused."""
    (tmp_path / "run.json").write_text("{}")

    refused = sim("ring", "--nodes", "2", "--trace", str(tmp_path), COLUMNS="200")

    assert refused.returncode == 2
    assert "holds a run already" in refused.stderr


def test_a_wrong_answer_is_exit_code_1():
    """When most of a ring dies at once some lookups name the wrong owner or none; the command counts them and fails."""
    failed = sim("ring", "--nodes", "64", "--crashes", "55", "--lookups", "100", "--json")

    assert failed.returncode == 1, failed.stderr
    report = json.loads(failed.stdout)
    assert report["wrong_owners"] > 0
    assert report["failed"] > 0
    told = failed.stderr.splitlines()
    assert told[-1] == f"error: and {report['wrong_owners'] + report['failed'] - 10} lookups more"
    assert told[:-1] == [f"error: {each}" for each in report["unsafe"]]
    lookup = r"error: lookup of 'name-\d+' through 10\.[\d.]+:5000 at \d+\.\d{3} s "
    assert len(told[:-1]) == 10
    assert all(
        re.match(rf"{lookup}(failed: .+|named .+, which joined anew .+|named .+; the owner is .+)", line)
        for line in told[:-1]
    ), told


def test_a_ring_that_does_not_converge_is_exit_code_3():
    """When the ring is not ideal in the time allowed the command says why, with 3."""
    failed = sim("ring", "--nodes", "16", "--within", "0.3")

    assert failed.returncode == 3, failed.stderr
    assert "never" in failed.stdout
    assert "not ideal:" in failed.stdout


@pytest.fixture
def report() -> Callable[..., Report]:
    return lambda **options: run(Options(**options), lambda _row: None)


def test_lookups_of_a_large_ring_take_about_half_log2_n(report):
    """Hops of 128 nodes lie within 10 % of the reference for 2 log2 N successors (2.52), list of 8 notwithstanding."""
    seen = report(nodes=128, seed=5, lookups=400)

    assert seen.converged_s is not None
    assert seen.wrong_owners == seen.failed == 0
    assert 2.2 <= seen.mean_hops <= 3.2


def test_crashes_are_healed(report):
    """Four of 32 crash at once: every lookup still finds the right owner, and the ring is ideal again."""
    seen = report(nodes=32, seed=6, crashes=4, lookups=300)

    assert seen.safe
    assert seen.converged
    assert seen.reconverged_s is not None
