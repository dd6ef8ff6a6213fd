"""Times that make no sense are usage errors, told before anything is started or written."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from chord.errors import LocalProtocolError
from experiments.cli_app import app
from experiments.watch.watching import Options


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "-1", "1e300"])
@pytest.mark.parametrize("option", ["--window", "--late", "--until-idle"])
def test_a_time_that_is_none_is_refused(option: str, seconds: str, tmp_path: Path) -> None:
    """By the option's name, with what it takes."""
    arguments = ["analyse", str(tmp_path / "run"), "--watch", option, seconds]

    result = CliRunner().invoke(app, arguments)

    assert isinstance(result.exception, LocalProtocolError)
    assert str(result.exception).startswith(f"{option} takes ")
    assert f", not {float(seconds):g}" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options", [Options(), Options(window_s=0.001, late_s=0.0, until_idle_s=0.1), Options(window_s=1e9, late_s=1e9)]
)
def test_the_ends_of_what_is_taken_are_taken(options: Options) -> None:
    """No window is shorter than a millisecond, nothing is longer than a billion seconds."""
    options.check()
