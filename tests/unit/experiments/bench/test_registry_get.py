"""What `bench registry-get` makes of what it measured."""

from __future__ import annotations

import random

import pytest

from experiments.bench import registry_get
from experiments.bench.registry_get import ASKED_AT_ONCE, BLOCKS, Times, bench


def test_the_last_figure_is_that_of_a_warm_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    """Medians of each run's medians, beside kazoo's; a get that brings the entries is told in the notes."""
    slower = iter([1.0, 3.0, 2.0])

    def measured(_rng: random.Random) -> Times:
        factor = next(slower)
        ways = {"kazoo": 400.0, "cold lookup": 360.0, "cold get": 480.0, "warm lookup": 100.0, "warm get": 120.0}
        ways |= {"cold named": 240.0, "warm named": 80.0}
        return {way: [1.0, us * factor, 10_000.0] for way, us in ways.items()}

    monkeypatch.setattr(registry_get, "_run", measured)

    cold, warm = bench(3, lambda _text: None)

    assert (cold.name, cold.ours, cold.reference, cold.ratio) == ("registry-get", 720.0, 800.0, 0.9)
    assert (warm.name, warm.ours, warm.reference, warm.ratio) == ("registry-get", 200.0, 800.0, 0.25)
    assert (cold.notes["get_ratio"], warm.notes["get_ratio"]) == (1.2, 0.3)
    assert (cold.notes["named_ratio"], warm.notes["named_ratio"]) == (0.6, 0.2)
    assert warm.notes["get_us"] == 240.0
    assert "no cache" in cold.reference_name and "owner cached" in warm.reference_name


def test_each_way_is_asked_in_turn_and_what_connects_it_is_not_counted() -> None:
    """Every topic once beforehand, then blocks of the same length, whatever else goes on in the machine."""
    asked: list[str] = []
    topics = ["a", "b", "c"]
    ways = {way: (lambda _topic, way=way: asked.append(way)) for way in ("ours", "reference")}
    times: Times = {}

    registry_get._ask(ways, topics, times, random.Random(1))

    assert {way: len(took) for way, took in times.items()} == dict.fromkeys(ways, BLOCKS * ASKED_AT_ONCE)
    assert asked[:6] == ["ours"] * 3 + ["reference"] * 3
    assert asked[6 : 6 + 2 * ASKED_AT_ONCE] == ["ours"] * ASKED_AT_ONCE + ["reference"] * ASKED_AT_ONCE
    assert len(asked) == 2 * (len(topics) + BLOCKS * ASKED_AT_ONCE)
