"""The partitions of a run are written again when one of them is not as it was left, and only then."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from experiments.analysis import gold
from experiments.analysis.counts import counts
from experiments.analysis.schemas import OF_KEYS
from experiments.analysis.state import load
from experiments.traces import examples
from experiments.traces.manifest import Store
from experiments.traces.run import parts


def write(run: Path, out: Path) -> list[str]:
    """Gold of a run with three hot keys, whose wire was watched; the names of the parts that were written."""
    store = Store(run)
    state = load(store)
    hot = [{"run": "r", "rank": rank, "key": f"{rank:016x}", "lookups": 9 - rank, "owners": 1} for rank in (1, 2, 3)]
    state.of_keys["hottest"] = pa.Table.from_pylist(hot, schema=OF_KEYS["hottest"])
    return gold.write(out, run, parts(run), store.manifest, state, counts(state))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run directory with run.json, and beside it what a capture left."""
    path = tmp_path / "run"
    replace(examples.RUN, run="r").save(path)
    wire = {"topic": ["t"], "sequence": [1], "app_us": [900], "wire_us": [400]}
    pq.write_table(pa.table(wire), path / "wire.parquet")
    return path


def flipped(path: Path) -> None:
    """One byte is another, and the size is as it was."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        flipped,
        Path.unlink,
        lambda path: shutil.rmtree(path.parent),
        lambda path: shutil.copy(path, path.with_name("part-1.parquet")),
    ],
    ids=["emptied", "flipped", "removed", "partition removed", "copied"],
)
def test_what_is_not_as_it_was_left_is_written_again(run: Path, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """A file of a partition, or all of it."""
    out = tmp_path / "out"
    assert write(run, out) == ["r"]
    before = gold.read(out, "hot_keys")
    assert (before.num_rows, write(run, out)) == (3, [])

    damage(out / "gold" / "hot_keys" / "run=r" / "part-0.parquet")

    assert write(run, out) == ["r"]
    assert gold.read(out, "hot_keys").equals(before)
    assert write(run, out) == []


def test_a_table_that_has_no_rows_any_more_has_no_partition(run: Path, tmp_path: Path) -> None:
    """And what an interrupted analysis left in another is gone."""
    out = tmp_path / "out"
    write(run, out)
    (run / "wire.parquet").unlink()
    torn = out / "gold" / "hot_keys" / "run=r" / ".part-0.parquet.new"
    torn.touch()
    (out / "gold" / "slowest" / "run=r").mkdir(parents=True)

    assert write(run, out) == ["r"]
    assert [str(path.relative_to(out)) for path in sorted(out.rglob("run=*/*"))] == [
        "gold/hot_keys/run=r/part-0.parquet"
    ]
    assert not (out / "gold" / "wire" / "run=r").exists()
