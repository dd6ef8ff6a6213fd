"""What a sweep is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from chord.errors import LocalProtocolError
from experiments.sweep.plan import Plan, describe, parse
from experiments.traces.run import load


@pytest.mark.parametrize(
    ("text", "numbers"), [("4,8,16", (4, 8, 16)), (" 8, 4,8 ", (4, 8)), ("1", (1,)), ("", ()), (" ", ())]
)
def test_numbers_come_in_order_and_once(text: str, numbers: tuple[int, ...]) -> None:
    """However they were written; an empty text names none."""
    assert parse("--sizes", text, 1, 16) == numbers


@pytest.mark.parametrize(
    ("text", "even", "said"),
    [
        ("4;8", False, "--sizes takes whole numbers with commas between them, like 4,8; not '4;8'"),
        ("4,", False, "--sizes takes whole numbers with commas between them, like 4,8; not '4,'"),
        ("0", False, "--sizes takes numbers from 1 to 16, not 0"),
        ("8,17", False, "--sizes takes numbers from 1 to 16, not 17"),
        ("2,5", True, "--sizes takes even numbers, half publishers and half subscribers; not 5"),
    ],
)
def test_what_is_no_list_of_numbers_is_refused(text: str, even: bool, said: str) -> None:
    """With the option's name, what it takes, and what it was given."""
    with pytest.raises(LocalProtocolError) as raised:
        parse("--sizes", text, 1, 16, even)
    assert str(raised.value) == said


def test_every_cell_has_a_part_of_its_own(tmp_path: Path) -> None:
    """A ring each, and both disseminations of each number of clients."""
    plan = Plan(tmp_path / "run", (4, 32), 10, (2, 8))

    parts = [part.name for _, part in plan.rings()] + [part.name for _, _, part in plan.client_cells()]

    assert parts == ["ring-004", "ring-032", "direct-002", "brokered-002", "direct-008", "brokered-008"]
    assert plan.cells == len(parts)


def test_a_sweep_of_nothing_is_refused(tmp_path: Path) -> None:
    """It would leave a directory that is no run."""
    with pytest.raises(LocalProtocolError, match="nothing to sweep: neither --sizes nor --clients names a number"):
        Plan(tmp_path, (), 10, ())


def test_a_sweep_mixes_with_no_earlier_run(tmp_path: Path) -> None:
    """Only a directory that is new or empty is taken."""
    Plan(tmp_path, (4,), 10, ())
    (tmp_path / "run.json").touch()

    for out in (tmp_path, tmp_path / "run.json"):
        with pytest.raises(
            LocalProtocolError, match=r"exists and is not an empty directory; name a new one with --out"
        ):
            Plan(out, (4,), 10, ())


def test_a_part_says_which_cell_it_is(tmp_path: Path) -> None:
    """Its name holds the sweep's, so that two sweeps can be analysed together."""
    describe(tmp_path / "first" / "direct-008", 16, 8).save(tmp_path / "first" / "direct-008")

    info = load(tmp_path / "first" / "direct-008" / "run.json")

    assert (info.run, info.ring_size, info.clients, info.source) == ("first-direct-008", 16, 8, "live")
