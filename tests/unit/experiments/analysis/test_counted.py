"""What is counted apart and put together is what is counted at once."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.analysis.counted import TABLES, Counted, Longest, merged
from experiments.analysis.deliveries import flows
from experiments.analysis.histogram import bucket, least_us
from experiments.analysis.lookups import least_of_longest
from experiments.analysis.schemas import COLUMNS


def rows(name: str, chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Random rows with few different keys, some of them null."""
    kind = TABLES[name]
    keys = kind.keys if isinstance(kind, Counted) else ("run",)
    found = []
    for _ in range(count):
        row: dict[str, Any] = {}
        for field in COLUMNS[name]:
            if field.name in keys and field.name != "run" and chance.random() < 0.2:
                row[field.name] = None
            elif pa.types.is_string(field.type):
                row[field.name] = chance.choice("ab")
            elif pa.types.is_binary(field.type):
                row[field.name] = chance.randbytes(4)
            else:
                row[field.name] = chance.randrange(3 if field.name in keys else 1_000_000)
        found.append(row)
    return found


def table(name: str, some: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(some, schema=COLUMNS[name])


@pytest.mark.parametrize("name", TABLES)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), count=st.integers(0, 60), cuts=st.integers(1, 4))
def test_parts_put_together_are_the_whole(name: str, seed: int, count: int, cuts: int) -> None:
    """In any grouping and any order; and what is whole already stays what it is."""
    chance = random.Random(seed)
    every = rows(name, chance, count)
    whole = merged(name, [table(name, every)])

    together = COLUMNS[name].empty_table()
    chance.shuffle(every)
    for number in range(cuts):
        together = merged(name, [together, table(name, every[number::cuts])])

    assert together.equals(whole)
    assert merged(name, [whole]).equals(whole)


def test_values_of_equal_keys_are_put_together_as_each_says() -> None:
    """Sums, least, greatest and the union of bitmaps, whose lengths may differ; null is a key, and never a value."""
    one = {"run": "r", "mode": None, "topic": "t", "publisher": "p", "subscriber": "s", "block": 1}
    values = {"first": 1, "last": 4, "delivered": 3, "bits": b"\x0d", "total_us": 5, "max_us": 2, "after_kill": 0}
    other = {"first": 2, "last": 12, "delivered": 2, "bits": b"\x02\x08", "total_us": 9, "max_us": 7, "after_kill": 1}

    found = merged(
        "blocks",
        [
            table("blocks", [{**one, **values, "resumed_us": None}]),
            table("blocks", [{**one, **other, "resumed_us": 8}]),
        ],
    )

    (row,) = found.to_pylist()
    together = {"first": 1, "last": 12, "delivered": 5, "bits": b"\x0f\x08", "total_us": 14, "max_us": 7}
    assert row == {**one, **together, "after_kill": 1, "resumed_us": 8}
    (flow,) = flows([{**row, "mode": "direct"}])
    assert (flow.distinct, flow.delivered, flow.resumed_us) == (5, 5, 8)


def test_each_run_keeps_its_own_longest() -> None:
    """So many and no more, the longest first."""
    kind = TABLES["slowest"]
    assert isinstance(kind, Longest)
    nothing = dict.fromkeys(COLUMNS["slowest"].names)
    every = [
        {**nothing, "run": run, "trace_id": f"{number:03}", "duration_us": number, "start_us": 0}
        for run, count in (("a", kind.most + 9), ("b", 3))
        for number in range(count)
    ]

    found = merged("slowest", [table("slowest", every[::2]), table("slowest", every[1::2])]).to_pylist()

    assert [row["duration_us"] for row in found if row["run"] == "a"] == list(range(kind.most + 8, 8, -1))
    assert [row["duration_us"] for row in found if row["run"] == "b"] == [2, 1, 0]


@given(st.lists(st.integers(-5, 10**7), min_size=1, max_size=80), st.integers(1, 30))
def test_the_longest_are_above_the_bound_that_their_histogram_gives(latencies: list[int], most: int) -> None:
    """No bound is above any of them, and lookups that failed count too, but not the step to the owner."""
    histogram = [{"run": "r", "step": "lookup", "bucket": bucket(each), "count": 1} for each in latencies[::2]]
    histogram += [{"run": "r", "step": "failed", "bucket": bucket(each), "count": 1} for each in latencies[1::2]]
    histogram += [{"run": "r", "step": "owner", "bucket": bucket(10**9), "count": most}]

    bound = least_of_longest(histogram, most)["r"]

    longest = sorted(latencies, reverse=True)[:most]
    assert min(max(0, each) for each in longest) >= bound


@given(st.integers(0, 10**12))
def test_no_latency_is_below_its_bucket(latency_us: int) -> None:
    """The bound of a bucket is a whole number at or below all that it holds; powers of two begin one."""
    assert least_us(bucket(latency_us)) <= latency_us
    power = 1 << (latency_us % 40)
    assert bucket(power) == 64 * (latency_us % 40)
