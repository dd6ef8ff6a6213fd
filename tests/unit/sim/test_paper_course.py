"""Cells are measured once for each commit, whole or not at all; what is told of a figure is what was measured."""

from __future__ import annotations

import csv
import json
from functools import partial

import pytest
from rich.console import Console
from rich.progress import Progress
from typer.testing import CliRunner

from sim import cli_paper
from sim.cli_app import app
from sim.paper import course, figures, report
from sim.paper.figure import Figure, Table


def cells(quick):
    return [{"number": number, "seed": 7} for number in range(2 if quick else 4)]


def square(parameters, _traced):
    return {"square": parameters["number"] ** 2}


def refuse(parameters, _traced):
    raise AssertionError(f"{parameters} is measured again")


def table(measured):
    rows = [[one.parameters["number"], one.result["square"], None, 1.25] for one in measured]
    return Table(["number", "square", "published", "share"], rows, [("squares grow", True), ("squares are odd", False)])


def draw(axes, measured):
    axes.plot([one.parameters["number"] for one in measured], [one.result["square"] for one in measured])


def figure(measure=square):
    return Figure("squares", "Squares", "nobody, 2001", cells, measure, table, draw)


def squares(measured):
    return [(one.parameters["number"], one.result["square"]) for one in measured]


def test_what_was_measured_by_a_commit_is_not_measured_again(tmp_path):
    """Another commit measures anew, and so does a cell whose result was damaged."""
    told = []
    first = course.measured(figure(), tmp_path, False, 1, "one", lambda: told.append(1))
    assert squares(first) == [(0, 0), (1, 1), (2, 4), (3, 9)]
    assert len(told) == 4

    again = course.measured(figure(refuse), tmp_path, False, 1, "one", lambda: told.append(1))
    assert squares(again) == squares(first)
    assert len(told) == 8

    with pytest.raises(AssertionError, match="is measured again"):
        course.measured(figure(refuse), tmp_path, False, 1, "two", lambda: None)

    kept = sorted(tmp_path.iterdir())[2] / course.RESULT
    kept.write_bytes(kept.read_bytes()[:-20])
    with pytest.raises(AssertionError, match="'number': 2"):
        course.measured(figure(refuse), tmp_path, False, 1, "one", lambda: None)


@pytest.mark.parametrize(
    "damaged", [b"", b"null", b'{"result":{"\xff":1}}', b"[" * 100_000, b'{"result":{"a":' + b"[" * 100_000]
)
def test_a_cell_that_is_damaged_is_measured_again(tmp_path, damaged):
    """However it is: on disk anything may be left."""
    first = course.measured(figure(), tmp_path, False, 1, "one", lambda: None)
    for kept in tmp_path.glob(f"*/{course.RESULT}"):
        kept.write_bytes(damaged)

    assert course.measured(figure(), tmp_path, False, 1, "one", lambda: None) == first
    assert course.measured(figure(refuse), tmp_path, False, 1, "one", lambda: None) == first


@pytest.mark.parametrize("version", ["unknown", "1" * 40 + "-dirty"])
def test_what_no_commit_names_is_measured_again(tmp_path, version):
    """The code may be another one."""
    course.measured(figure(), tmp_path, False, 1, version, lambda: None)

    with pytest.raises(AssertionError, match="is measured again"):
        course.measured(figure(refuse), tmp_path, False, 1, version, lambda: None)


def test_what_was_measured_before_an_interrupt_is_kept(tmp_path):
    """The rest is measured later."""
    seen = []

    def interrupted(parameters, traced):
        if parameters["number"] == 2:
            raise KeyboardInterrupt
        seen.append(parameters["number"])
        return square(parameters, traced)

    with pytest.raises(KeyboardInterrupt):
        course.measured(figure(interrupted), tmp_path, False, 1, "one", lambda: None)
    assert seen == [0, 1]

    rest = []
    found = course.measured(
        figure(lambda cell, traced: rest.append(cell["number"]) or square(cell, traced)),
        tmp_path,
        False,
        1,
        "one",
        lambda: None,
    )

    assert rest == [2, 3]
    assert squares(found) == [(0, 0), (1, 1), (2, 4), (3, 9)]


@pytest.mark.parametrize("judged", [True, False])
def test_a_figure_is_told_with_what_differs(judged):
    """Of a small form no expectation is told."""
    console = Console(record=True, width=80)
    report.show(figure(), table(course_of(3)), [7], judged, console)

    said = console.export_text()
    assert "Squares" in said
    assert "nobody, 2001; ours is simulated" in said
    assert "1.250" in said
    assert ("differs: squares are odd" in said) == judged
    assert ("1 of 2 expectations hold" in said) == judged


def test_a_long_table_ends_on_the_terminal():
    """All of it is in the file."""
    console = Console(record=True, width=80)
    report.show(figure(), table(course_of(report.ROWS_SHOWN + 2)), [7], False, console)

    said = console.export_text()
    assert "2 more rows in squares.csv" in said
    assert len(said.splitlines()) < report.ROWS_SHOWN + 10


WIDE = Table(
    ["lookups", "path", "of so many (to be checked)", "published path", "time-outs"],
    [[240_000, 3.9123, 1234.5, None, 123.45]],
    shown=["path", "published path", "of so many (to be checked)"],
)


def test_a_wide_table_shows_what_matters_in_an_order_of_its_own(tmp_path):
    """All columns are in the file; no number is cut off."""
    console = Console(record=True, width=100)
    report.show(figure(), WIDE, [7], False, console)
    report.write_csv(WIDE, tmp_path / "wide.csv")

    told = console.export_text().splitlines()
    assert ["3.912", "-", "1234"] in map(str.split, told)
    assert "2 more columns in squares.csv" in told
    with (tmp_path / "wide.csv").open(newline="") as file:
        assert [len(row) for row in csv.reader(file)] == [5, 5]


def test_every_table_says_what_its_columns_are():
    """In lines below it; whatever a figure measures, it tells it by words of its own."""
    noted = Table(["x"], [[1]], notes=["x: what is counted"])
    console = Console(record=True, width=100)
    report.show(figure(), noted, [7], False, console)

    assert console.export_text().splitlines()[-1] == "x: what is counted"


def test_what_is_whole_has_no_digits_after_the_point():
    """A column has as many of them in all rows: none if all are whole or some are large."""
    told = Table(
        ["rings", "lost", "share", "ms", "bytes"], [[2.0, 120.0, 0.5, 0.0, 80.5], [1.0, None, 1.0, 123.45, 2e3]]
    )
    console = Console(record=True, width=100)
    report.show(figure(), told, [7], False, console)

    lines = [line.split() for line in console.export_text().splitlines()]
    assert ["2", "120", "0.500", "0.0", "80"] in lines
    assert ["1", "-", "1.000", "123.5", "2000"] in lines


def test_what_is_published_from_memory_is_said_to_be(monkeypatch, tmp_path):
    """Below a table that shows such a column, and in the picture; of a figure without one nothing is said."""
    titles = []
    monkeypatch.setattr("matplotlib.axes.Axes.set_title", lambda _axes, title, **_style: titles.append(title))
    console = Console(record=True, width=100)
    report.show(figure(), WIDE, [7], False, console)
    report.draw(figure(), WIDE, course_of(2), tmp_path / "wide.png")
    said = "published figures marked 'to be checked' are from memory, not verified"

    assert said in console.export_text().splitlines()
    assert titles[-1].endswith(f"\n{said}")

    report.show(figure(), table(course_of(2)), [7], False, console)
    report.draw(figure(), table(course_of(2)), course_of(2), tmp_path / "squares.png")
    assert said not in console.export_text()
    assert said not in titles[-1]


def test_a_column_is_as_wide_as_its_longest_number_or_word():
    """However much room there is."""
    wide = Console(record=True, width=300)
    report.show(figure(), WIDE, [7], False, wide)

    (rule,) = [line for line in wide.export_text().splitlines() if "─" in line]
    assert len(rule.strip()) == len("3.912") + len("published") + len("checked)") + 2 * 2


@pytest.mark.parametrize(("width", "shown"), [(40, 3), (28, 3), (27, 2), (18, 2), (17, 1), (7, 1)])
def test_columns_for_which_there_is_no_room_are_left_out(width, shown):
    """The last ones, and they are counted with those that are only in the file; the first one stays at any width."""
    console = Console(record=True, width=width)
    report.show(figure(), WIDE, [7], False, console)

    told = console.export_text()
    (rule,) = [line for line in told.splitlines() if "─" in line]
    assert len(rule) <= width
    assert f"{5 - shown}morecolumnsinsquares.csv" in "".join(told.split())
    assert "…" not in told


@pytest.mark.parametrize(("columns", "width"), [("60", 60), ("", report.WIDE), ("0", report.WIDE), (None, report.WIDE)])
def test_what_is_no_terminal_has_room_for_every_table(monkeypatch, tmp_path, columns, width):
    """As a file, or the log of a run; unless COLUMNS says how much there is."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    told = []
    monkeypatch.setattr(report, "show", lambda *arguments: told.append(arguments[-1].width))
    assert run(monkeypatch, "--quick", "--jobs", 1, "--out", tmp_path).exit_code == 0

    assert told == [width]


def course_of(count):
    return [course.Measured(cell, square(cell, None)) for cell in [{"number": number} for number in range(count)]]


def run(monkeypatch, *arguments):
    monkeypatch.setattr(figures, "FIGURES", {"squares": figure()})
    return CliRunner().invoke(app, ["paper", *map(str, arguments)])


def test_the_command_leaves_a_table_and_a_picture_and_tells_in_json(monkeypatch, tmp_path):
    """With the seeds, the commit, and the published column as it is."""
    result = run(monkeypatch, "--quick", "--json", "--jobs", 1, "--out", tmp_path)

    assert result.exit_code == 0
    (told,) = json.loads(result.stdout)
    assert (told["name"], told["quick"], told["seeds"]) == ("squares", True, [7])
    assert told["rows"] == [[0, 0, None, 1.25], [1, 1, None, 1.25]]
    assert told["expectations"] == [
        {"text": "squares grow", "holds": True},
        {"text": "squares are odd", "holds": False},
    ]
    with (tmp_path / "squares.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["number", "square", "published", "share"],
            *([str(number), str(number**2), "", "1.25"] for number in range(2)),
        ]
    assert (tmp_path / "squares.png").read_bytes().startswith(b"\x89PNG")


def test_the_time_that_is_told_is_that_of_the_cells(monkeypatch, tmp_path):
    """Two of them at 2 s each, and none of what the table takes."""
    now = [0.0]

    def wait(wait_s, found):
        now[0] += wait_s
        return found

    slow = Figure(
        "squares",
        "Squares",
        "nobody, 2001",
        cells,
        lambda cell, traced: wait(2.0, square(cell, traced)),
        lambda measured: wait(50.0, table(measured)),
        draw,
    )
    monkeypatch.setattr(cli_paper, "Progress", partial(Progress, get_time=lambda: now[0]))
    monkeypatch.setattr(figures, "FIGURES", {"squares": slow})
    result = CliRunner().invoke(app, ["paper", "--quick", "--json", "--jobs", "1", "--out", str(tmp_path)])

    assert json.loads(result.stdout)[0]["wall_s"] == 4.0


def test_the_command_names_the_seeds_beside_the_table(monkeypatch, tmp_path):
    """On the terminal too, whatever the form."""
    result = run(monkeypatch, "--jobs", 1, "--out", tmp_path)

    assert "seed 7" in [line.strip() for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("seeds", "said"), [([1], "seed 1"), ([0, 1], "seeds 0-1"), ([0, 2, 3, 4, 100], "seeds 0, 2-4, 100")]
)
def test_seeds_are_told_as_from_where_to_where(seeds, said):
    """All of them."""
    console = Console(record=True, width=80)
    report.show(figure(), table(course_of(1)), seeds, False, console)

    assert said in [line.strip() for line in console.export_text().splitlines()]


def test_a_directory_that_cannot_be_written_is_said_before_anything_is_measured(monkeypatch, tmp_path):
    """A cell may take an hour."""
    (tmp_path / "file").touch()
    monkeypatch.setattr(figures, "FIGURES", {"squares": figure(refuse)})
    result = CliRunner().invoke(app, ["paper", "--jobs", "1", "--out", str(tmp_path / "file" / "out")])

    assert result.exit_code == 2
    assert f"--out: {tmp_path}/file/out cannot be written: Not a directory\n" in result.stderr


def test_a_figure_that_nobody_knows_is_a_matter_of_usage(monkeypatch, tmp_path):
    """Nothing is measured, and nothing is left."""
    result = run(monkeypatch, "circles", "--out", tmp_path / "out")

    assert result.exit_code == 2
    assert "there is no 'circles'; there are squares" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("version", "how"),
    [("1" * 40, "goes on from there"), ("unknown", "begins anew, as no commit names this code")],
)
def test_an_interrupted_command_says_how_it_goes_on(monkeypatch, tmp_path, version, how):
    """Exit code 130 and one line."""

    def interrupted(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(course, "measured", interrupted)
    monkeypatch.setattr(cli_paper, "checked_out", lambda: version)
    result = run(monkeypatch, "--jobs", 1, "--out", tmp_path)

    assert result.exit_code == 130
    assert f"interrupted in squares; the same command {how}" in result.stderr
