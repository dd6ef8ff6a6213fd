"""What `python -m experiments split` says of a split that it did not see."""

from __future__ import annotations

import pytest

import experiments.split
from experiments.rings.split import Report


def report(two_rings_s: float | None) -> Report:
    return Report(left=3, right=3, cut_s=1.0, two_rings_s=two_rings_s, one_ring_s=0.5, found_s=1.5)


@pytest.mark.parametrize(("two_rings_s", "good"), [(0.75, True), (None, False)])
def test_a_cut_too_short_for_two_rings_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], two_rings_s: float | None, good: bool
) -> None:
    """One ring before and after is no success when there were never two: it is said plainly."""
    monkeypatch.setattr(experiments.split, "play", lambda *_: report(two_rings_s))

    assert experiments.split.split(6, 1.0, as_json=False) is good

    told = capsys.readouterr()
    assert ("two rings: never from the cut" in told.out) is not good
    assert ("no split was seen: the halves were not yet two rings after 1 s; make --cut longer" in told.err) is not good
