"""The verdict of a demo outlives its process."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.analysis.summary import BROKEN, Verdict
from experiments.report.files import read_verdict, write_verdict
from experiments.traces.run import BadRun


def test_verdict_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Every field; and a run without one has none."""
    verdict = Verdict(outcome=BROKEN, lookups_checked=9, failures=["a subscriber got nothing"], elapsed_s=1.5)

    assert read_verdict(tmp_path) is None
    write_verdict(verdict, tmp_path)

    assert read_verdict(tmp_path) == verdict
    assert [path.name for path in tmp_path.iterdir()] == ["verdict.json"]


@pytest.mark.parametrize("content", ["{", "{}", '{"outcome": 1}'])
def test_damaged_verdict_is_refused(tmp_path: Path, content: str) -> None:
    """One line that says what to do."""
    (tmp_path / "verdict.json").write_text(content)

    with pytest.raises(BadRun, match=r"verdict.json is no verdict .*; remove it"):
        read_verdict(tmp_path)
