"""The figures of a measurement stay in a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from experiments import bench
from experiments.bench.measurement import Figure, Progress, figure
from experiments.cli_app import app


@pytest.fixture
def two_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """`one` and `two`, which measure nothing."""

    def benchmark(name: str) -> ModuleType:
        module = ModuleType(f"made_up_{name}")

        def measure(runs: int, _progress: Progress) -> list[Figure]:
            return [figure(name, [4.0] * runs, [2.0] * runs, "half", "us", {"runs_asked": runs})]

        module.bench = measure  # type: ignore[attr-defined]  # a module is what the registry names
        return module

    for name in ("one", "two"):
        monkeypatch.setitem(sys.modules, f"made_up_{name}", benchmark(name))
    monkeypatch.setattr(bench, "MODULES", {name: f"made_up_{name}" for name in ("one", "two")})


@pytest.mark.usefixtures("two_benchmarks")
@pytest.mark.parametrize("as_json", [True, False])
def test_out_gets_a_line_of_json_for_each_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    """Whether they are printed as JSON or to be read; those of an earlier measurement go."""
    out = tmp_path / "bench.json"
    out.write_text("earlier\n")

    bench.bench([], 3, as_json, out)

    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(line["name"], line["ratio"], line["runs"]) for line in lines] == [("one", 2.0, 3), ("two", 2.0, 3)]
    printed = capsys.readouterr().out
    assert (printed == out.read_text()) is as_json
    assert printed.count("\n") == 2


@pytest.mark.usefixtures("two_benchmarks")
def test_a_file_that_cannot_be_written_is_said_before_anything_is_measured(tmp_path: Path) -> None:
    """Exit code 2: what takes an hour to measure is not lost to a typing error."""
    result = CliRunner().invoke(app, ["bench", "one", "--out", str(tmp_path)])

    assert result.exit_code == 2
    assert f"--out: {tmp_path} cannot be written: Is a directory" in result.output
    assert "half" not in result.output
