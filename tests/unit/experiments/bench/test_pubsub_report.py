"""The roles of the publish/subscribe benchmarks notice a sample that is missing, there twice, or out of order."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from experiments.bench.pubsub_report import counting, numbered, stamped

WANTED = 5


def _report(payloads: list[bytes], capsys: pytest.CaptureFixture[str], timed: bool = False) -> dict[str, object]:
    """What is reported of these payloads, of which WANTED are wanted."""
    take, report = counting(WANTED, 100, timed, lambda: None)
    for payload in payloads:
        take(payload)
    report()
    said: dict[str, object] = json.loads(capsys.readouterr().out)
    return said


def test_samples_that_come_once_and_in_order_are_all_right(capsys: pytest.CaptureFixture[str]) -> None:
    """And all of them are counted."""
    said = _report(list(islice(numbered(100), WANTED)), capsys)

    assert (said["received"], said["in_order"]) == (WANTED, True)


@pytest.mark.parametrize("order", [[0, 1, 3, 4, 5], [0, 1, 1, 2, 3], [0, 2, 1, 3, 4]], ids=["gap", "twice", "swapped"])
@pytest.mark.parametrize("timed", [False, True])
def test_samples_that_do_not_are_not(capsys: pytest.CaptureFixture[str], order: list[int], timed: bool) -> None:
    """However many they are, and whether they carry a time or not."""
    payloads = list(islice(numbered(100), 6))
    if timed:
        payloads = [stamped(payload) for payload in payloads]

    said = _report([payloads[number] for number in order], capsys, timed)

    assert (said["received"], said["in_order"]) == (WANTED, False)


def test_the_last_wanted_sample_is_told() -> None:
    """Once, and not before."""
    told: list[bool] = []
    take, _ = counting(WANTED, 100, False, lambda: told.append(True))

    for payload in islice(numbered(100), WANTED - 1):
        take(payload)
    before = list(told)
    take(b"")

    assert (before, told) == ([], [True])
