"""What `bench dht-peers` asks and what it makes of the answers."""

from __future__ import annotations

import io
import json
import sys

import pytest

from experiments.bench import dht_report
from experiments.bench.dht_peers import compare
from experiments.bench.dht_report import Answers, obey


class Shelf:
    """A node that has some of the keys itself, finds others elsewhere, and does not find the rest."""

    def __init__(self) -> None:
        self.stored: dict[str, str] = {}

    def put(self, key: str, value: str) -> None:
        self.stored[key] = value

    def get_us(self, key: str, value: str) -> float | None:
        return 100.0 if self.stored.get(key) == value else None

    def held(self, keys: list[str]) -> set[str]:
        return {key for key in keys if key.startswith("held")}


def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *orders: dict[str, object]) -> list:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(json.dumps(order) + "\n" for order in orders)))
    obey(Shelf())
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_what_the_node_asked_holds_is_passed_over(monkeypatch, capsys):
    """A get that fails is counted and not timed, one that the node needs nobody for is neither."""
    stored, answers = told(
        monkeypatch,
        capsys,
        {"put": ["a", "held-b"], "value": "v"},
        {"get": ["a", "held-b", "nowhere", "a"], "every_s": 0.0, "until_s": 5.0},
    )

    assert stored == {}
    assert answers == {"took_us": [100.0, 100.0], "failed": 1, "passed_over": 1}


def test_no_get_is_begun_when_the_time_is_over(monkeypatch, capsys):
    """A slow system is asked less, not for longer."""
    moment = iter([0.0, 0.0, 0.0, 10.0, 10.0, 10.0])
    monkeypatch.setattr(dht_report.time, "monotonic", lambda: next(moment, 99.0))
    monkeypatch.setattr(dht_report.time, "sleep", lambda _seconds: None)

    _, answers = told(
        monkeypatch, capsys, {"put": ["a"], "value": "v"}, {"get": ["a"] * 5, "every_s": 1.0, "until_s": 5.0}
    )

    assert len(answers["took_us"]) == 1


def test_each_way_is_compared_with_the_better_peer_of_its_run():
    """Percentiles of each run; the peers change places from run to run, and both are in the notes."""
    slow, fast = Answers(took_us=[4_000.0] * 99 + [9_000.0]), Answers(took_us=[2_000.0] * 99 + [3_000.0])
    ours = Answers(took_us=[1_000.0] * 99 + [6_000.0], failed=1)
    run = {"iterative": ours, "recursive": ours, "cached": ours}
    seen = [{**run, "kademlia": slow, "opendht": fast}, {**run, "kademlia": fast, "opendht": slow}]

    figures = compare("dht-peers", seen)

    assert [figure.reference_name.partition(";")[0] for figure in figures] == ["p50", "p99"] * 3
    p50, p99 = figures[:2]
    assert (p50.ours, p50.reference, p50.ratio, p50.runs) == (1.0, 2.0, 0.5, 2)
    assert (p99.ours, p99.reference, p99.ratio) == (6.0, 3.0, 2.0)
    assert (p50.notes["kademlia_ratio"], p50.notes["failed"]) == (0.375, 2)
