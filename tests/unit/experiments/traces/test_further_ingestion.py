"""A second ingestion reads only what is new, and what comes of both is what one from scratch would make."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from experiments.traces import examples
from experiments.traces.compacting import MOST_SMALL
from experiments.traces.manifest import FILE, Store
from experiments.traces.parquet import ingest
from experiments.traces.schema import TABLES
from experiments.traces.spools import Damage, Row, read_on, read_spool


def encoded(*sequences: int) -> bytes:
    rows = [replace(examples.DELIVERY, sequence=number) for number in sequences]
    return b"".join(map(msgspec.msgpack.encode, rows))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run directory with run.json and an empty traces folder."""
    replace(examples.RUN, run="r", source="sim", seed=9).save(tmp_path)
    (tmp_path / "traces").mkdir()
    return tmp_path


def sequences(run: Path) -> list[int]:
    """Of all deliveries that bronze holds, by the manifest alone."""
    store = Store(run)
    files = store.paths(list(store.manifest.bronze["delivery"]))
    return sorted(number for file in files for number in pq.read_table(file)["sequence"].to_pylist())


def test_nothing_new_is_nothing_read(run: Path) -> None:
    """Neither the spool files nor the manifest are touched."""
    (run / "traces" / "a.trace").write_bytes(encoded(1, 2))
    ingest(run)
    before = (run / "parquet" / FILE).stat().st_mtime_ns

    again = ingest(run)

    assert (again.files, again.bytes_read) == (0, 0)
    assert again.rows["delivery"] == 2
    assert (run / "parquet" / FILE).stat().st_mtime_ns == before


def test_a_spool_that_grew_is_read_from_where_it_ended(run: Path) -> None:
    """Also in the middle of a row, and after its writer gave it its final name."""
    whole = encoded(1, 2, 3)
    (run / "traces" / "a.part").write_bytes(whole[:-5])
    assert ingest(run).damage == Damage(cut_tails=1, files=["a"])
    (run / "traces" / "a.part").write_bytes(whole + encoded(4))
    (run / "traces" / "a.part").rename(run / "traces" / "a.trace")
    (run / "traces" / "b.trace").write_bytes(encoded(5))

    again = ingest(run)

    assert again.bytes_read == len(encoded(3, 4, 5))
    assert (again.rows["delivery"], again.damage) == (5, Damage())
    assert sequences(run) == [1, 2, 3, 4, 5]


@given(seed=st.integers(0, 2**32), steps=st.integers(1, 5), damages=st.integers(0, 3))
def test_many_readings_are_one_reading(
    tmp_path_factory: pytest.TempPathFactory, seed: int, steps: int, damages: int
) -> None:
    """Whatever is damaged and wherever the file ended each time: the rows and what was passed over are the same."""
    chance = random.Random(seed)
    data = bytearray(encoded(*range(1, 31)))
    for _ in range(damages):
        at = chance.randrange(len(data))
        data[at : at + chance.randrange(20)] = chance.randbytes(chance.randrange(20))
    path = tmp_path_factory.getbasetemp() / "growing.trace"
    path.write_bytes(data)
    damage = Damage()
    rows = read_spool(path, damage)

    found: list[Row] = []
    settled, end = Damage(), 0
    for size in [*sorted(chance.randrange(len(data)) for _ in range(steps)), len(data)]:
        path.write_bytes(data[:size])
        reading = read_on(path, end)
        found += reading.rows
        settled.add(reading.settled)
        end = reading.end

    settled.add(reading.open)
    assert (found, settled) == (rows, damage)


@pytest.mark.parametrize("change", ["told otherwise", "shorter", "another", "gone"])
def test_a_part_that_was_run_again_is_read_again_and_no_other(tmp_path: Path, change: str) -> None:
    """What run.json says of the rows, a file that is shorter, or begins otherwise, or is gone."""
    for name in ("a", "b"):
        replace(examples.RUN, run=name).save(tmp_path / name)
        (tmp_path / name / "traces").mkdir()
    traces = tmp_path / "a" / "traces"
    (traces / "x.trace").write_bytes(encoded(1, 2))
    (traces / "y.trace").write_bytes(encoded(3))
    (tmp_path / "b" / "traces" / "z.trace").write_bytes(encoded(10, 11))
    ingest(tmp_path)
    if change == "told otherwise":
        replace(examples.RUN, run="a", kill_us=5).save(tmp_path / "a")
    elif change == "gone":
        (traces / "x.trace").unlink()
    else:
        (traces / "x.trace").write_bytes(encoded(7) if change == "shorter" else encoded(8, 9, 9))

    again = ingest(tmp_path)

    left = {"told otherwise": [1, 2], "shorter": [7], "another": [8, 9, 9], "gone": []}[change]
    assert sequences(tmp_path) == sorted([*left, 3, 10, 11])
    assert again.bytes_read == len(encoded(*left, 3))


def test_a_part_that_is_gone_leaves_no_rows(tmp_path: Path) -> None:
    """Nor does it leave them to those that are still there."""
    for name in ("a", "b"):
        replace(examples.RUN, run=name).save(tmp_path / name)
        (tmp_path / name / "traces").mkdir()
        (tmp_path / name / "traces" / "x.trace").write_bytes(encoded(1 if name == "a" else 2))
    ingest(tmp_path)
    shutil.rmtree(tmp_path / "a")

    assert ingest(tmp_path).rows["delivery"] == 1
    assert sequences(tmp_path) == [2]


def test_small_files_become_one(run: Path) -> None:
    """Each ingestion leaves a file; when there are many, the next one makes one of them."""
    for number in range(1, MOST_SMALL + 2):
        (run / "traces" / f"{number:03}.trace").write_bytes(encoded(number))
        ingest(run)

    store = Store(run)
    assert len(store.manifest.bronze["delivery"]) == len(store.manifest.pending["delivery"]) == 1
    assert sequences(run) == list(range(1, MOST_SMALL + 2))
    assert len(list((run / "parquet" / "delivery").iterdir())) == 1


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 0}'])
def test_a_manifest_that_cannot_be_used_has_all_read_again(run: Path, content: bytes) -> None:
    """Nothing is there twice because of it, and files that no manifest names are removed."""
    (run / "traces" / "a.trace").write_bytes(encoded(1, 2))
    ingest(run)
    (run / "parquet" / FILE).write_bytes(content)

    assert ingest(run).rows["delivery"] == 2
    assert sequences(run) == [1, 2]
    assert {path.name for path in (run / "parquet").iterdir()} == {FILE, *TABLES}


def test_a_file_of_bronze_that_is_gone_has_all_read_again(run: Path) -> None:
    """Somebody made room."""
    (run / "traces" / "a.trace").write_bytes(encoded(1, 2))
    ingest(run)
    for path in (run / "parquet" / "delivery").iterdir():
        path.unlink()

    assert ingest(run).rows["delivery"] == 2
    assert sequences(run) == [1, 2]


def test_a_spool_that_goes_away_while_it_is_read_is_named(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of its rows count; the others are read."""
    for name, sequence in (("a", 1), ("b", 2)):
        (run / "traces" / f"{name}.part").write_bytes(encoded(sequence))
    opening = Path.open

    def removing(path: Path, *arguments: Any, **named: Any) -> Any:
        file = opening(path, *arguments, **named)
        if path.name == "a.part":
            path.unlink()
        return file

    monkeypatch.setattr(Path, "open", removing)

    assert ingest(run).damage.unreadable == ["a.part: it went away"]
    assert sequences(run) == [2]
