"""A batch counts once in each window, however often it is done; percentiles come of histograms."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from experiments.analysis.histogram import bucket
from experiments.traces.damaged import Damaged
from experiments.watch import windows
from experiments.watch.windows import Cell, Windows, as_row

LENGTH_US = 10_000_000
CELL = Cell(
    window_us=0,
    run="r",
    source="live",
    what="lookup",
    mode="iterative",
    ok=True,
    hops=1,
    bucket=bucket(100),
    count=1,
    timeouts=0,
    total_us=100,
    max_us=100,
)


def table(place: Path) -> list[dict[str, object]]:
    return [
        row for path in sorted((place / windows.FOLDER).glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    ]


def test_a_window_has_what_counting_by_hand_finds(tmp_path: Path) -> None:
    """Lookups in any order and any batches: exact hops, latency within a bucket, failures and time-outs apart."""
    chance = random.Random(3)
    lookups = [(chance.randrange(5), int(chance.lognormvariate(7, 1)), chance.random() < 0.9) for _ in range(500)]
    store = Windows(tmp_path, LENGTH_US)
    for batch, (hops, us, ok) in enumerate(lookups):
        cell = replace(CELL, ok=ok, hops=hops if ok else None, bucket=bucket(us), total_us=us, max_us=us)
        store.add(batch, [replace(cell, timeouts=0 if ok else 2)])

    (row,) = table(tmp_path)
    answered = [(hops, us) for hops, us, ok in lookups if ok]
    times = sorted(us for _, us in answered)
    hops = sorted(hops for hops, _ in answered)
    failed = len(lookups) - len(answered)
    assert (row["count"], row["failed"], row["timeouts"]) == (500, failed, 2 * failed)
    assert row["hops_mean"] == pytest.approx(sum(hops) / len(hops), abs=1e-4)
    assert (row["hops_p50"], row["hops_p99"]) == tuple(hops[-(-len(hops) * share // 100) - 1] for share in (50, 99))
    assert row["latency_us_p99"] == pytest.approx(times[-(-len(times) * 99 // 100) - 1], rel=0.006, abs=0.5)
    assert (row["latency_us_max"], row["latency_us_total"]) == (times[-1], sum(times))
    assert (store.counted, [each.count for each in Windows(tmp_path, LENGTH_US).latest(1)]) == (500, [500])


def test_a_batch_that_is_done_again_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between two windows of a batch: the first has it, the second gets it, and then neither does again."""
    early, later = CELL, replace(CELL, window_us=LENGTH_US)
    Windows(tmp_path, LENGTH_US).add(0, [early, later])
    write = windows._write

    def killed_at_the_second(path: Path, batch: int, rows: list[windows.Window]) -> None:
        if int(path.stem) == LENGTH_US:
            raise KeyboardInterrupt
        write(path, batch, rows)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(windows, "_write", killed_at_the_second)
        Windows(tmp_path, LENGTH_US).add(1, [early, later])
    assert [row["count"] for row in table(tmp_path)] == [2, 1]
    store = Windows(tmp_path, LENGTH_US)

    assert [row.start_us for row in store.add(1, [early, later])] == [LENGTH_US]
    assert store.add(1, [early, later]) == []
    assert [row["count"] for row in table(tmp_path)] == [2, 2]


def test_runs_and_modes_have_rows_of_their_own(tmp_path: Path) -> None:
    """What did not change is not told again. Deliveries have no hops."""
    store = Windows(tmp_path, LENGTH_US)
    delivery = replace(CELL, what="delivery", mode="direct", hops=None)
    store.add(0, [CELL, replace(CELL, run="other"), delivery])

    (changed,) = store.add(1, [delivery])

    assert len(table(tmp_path)) == 3
    row = as_row(changed)
    assert (row["what"], row["count"], row["hops_mean"], row["latency_us_p50"]) == ("delivery", 2, None, 100)
    assert (row["window_start"], row["window_end"]) == ("1970-01-01T00:00:00Z", "1970-01-01T00:00:10Z")


def test_a_window_that_was_cut_is_named(tmp_path: Path) -> None:
    """When the watch begins, and when a batch is added to it."""
    store = Windows(tmp_path, LENGTH_US)
    store.add(0, [CELL])
    (path,) = store.folder.iterdir()
    path.write_bytes(path.read_bytes()[:-9])

    for what in (lambda: store.latest(1), lambda: store.add(1, [CELL])):
        with pytest.raises(Damaged, match=f"{path.name} is damaged .*; remove {tmp_path} to have everything counted"):
            what()
