"""Every row that can be read is ingested; what cannot is counted, and nothing crashes."""

from __future__ import annotations

import random
from pathlib import Path

import msgpack
import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chord.spool import Spool
from chord.trace import HopTrace
from experiments.traces import examples
from experiments.traces.parquet import ingest
from experiments.traces.run import BadRun
from experiments.traces.schema import DELIVERY, TABLES
from experiments.traces.spools import Damage, read_spool
from pubsub.trace import DeliveryTrace


def delivery(sequence: int) -> DeliveryTrace:
    return replace(examples.DELIVERY, sequence=sequence)


FAILED = replace(
    examples.LOOKUP,
    trace_id=2**64 - 1,
    owner=None,
    outcome="LookupFailed",
    hop_list=[HopTrace(node=255, address="a:1", rtt_us=3, timed_out=True)],
)


def encoded(*rows: msgspec.Struct) -> bytes:
    return b"".join(map(msgspec.msgpack.encode, rows))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run directory with run.json and an empty traces folder."""
    replace(examples.RUN, run="r", source="sim", seed=9).save(tmp_path)
    (tmp_path / "traces").mkdir()
    return tmp_path


def table(run: Path, name: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pq.read_table(run / "parquet" / name).to_pylist()
    return rows


def test_ingest_writes_every_table_with_the_columns_of_the_run(run: Path) -> None:
    """Rows of a spool reach their tables; identifiers are 16 hexadecimal digits; units are in the metadata."""
    spool = Spool(run / "traces", "host:1/x")
    for row in (FAILED, examples.DELIVERY, examples.PUBLICATION, examples.EVENT):
        spool.append(row)
    spool.close()

    result = ingest(run)

    assert result.rows == {"lookup": 1, "delivery": 1, "publication": 1, "event": 1}
    assert result.damage == Damage()
    (row,) = table(run, "lookup")
    assert (row["trace_id"], row["owner"], row["run"], row["seed"]) == ("f" * 16, None, "r", 9)
    hop = {"i": 0, "node": "00000000000000ff", "address": "a:1", "rtt_us": 3, "timed_out": True}
    assert row["hop_list"] == [hop]
    schema = pq.read_schema(next((run / "parquet" / "lookup").iterdir()))
    assert schema.field("duration_us").metadata[b"unit"] == b"us"


def test_ingest_twice_gives_the_same_rows_once(run: Path) -> None:
    """A second ingestion replaces the first."""
    (run / "traces" / "a.trace").write_bytes(encoded(delivery(1), delivery(2)))

    ingest(run)
    again = ingest(run)

    assert again.rows["delivery"] == len(table(run, "delivery")) == 2
    assert sorted(path.name for path in run.iterdir()) == ["parquet", "run.json", "traces"]


def test_a_run_without_traces_gives_empty_tables(run: Path) -> None:
    """Every table exists, so that an analysis of a partial run needs no special case."""
    (run / "traces").rmdir()

    assert ingest(run).files == 0
    assert {name: table(run, name) for name in TABLES} == {name: [] for name in TABLES}


def test_a_cut_tail_loses_only_the_row_it_cuts(run: Path) -> None:
    """A killed process leaves a file that ends inside a row."""
    (run / "traces" / "a.part").write_bytes(encoded(delivery(1), delivery(2))[:-3])

    result = ingest(run)

    assert result.rows["delivery"] == 1
    assert result.damage == Damage(cut_tails=1, files=["a"])


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\x01\x02", b"\xc1\xff\xfe", b"\xdd\xff\xff\xff\xff", b"\x9f", b"\xda\xff\xff", b"\xc7\xff", b"\x80"],
)
def test_garbage_loses_no_row_around_it(run: Path, garbage: bytes) -> None:
    """Also garbage that pretends to be a long array or text, which would swallow the rows after it."""
    rows = [encoded(delivery(number)) for number in range(1, 101)]
    (run / "traces" / "a.trace").write_bytes(b"".join([*rows[:50], garbage, *rows[50:]]))

    result = ingest(run)

    assert [row["sequence"] for row in table(run, "delivery")] == list(range(1, 101))
    assert (result.damage.garbage, result.damage.garbage_bytes) == (1, len(garbage))


def test_rows_in_the_wrong_form_are_counted_and_left_out(run: Path) -> None:
    """A wrong type, a missing field, a number beyond 64 bits signed, and a row of a table not known here."""
    good = encoded(delivery(1), delivery(2))
    wrong = [["delivery", 1, 2], ["delivery", "t", "direct", "p", "s", "x", 1, 2], ["weather", 1]]
    (run / "traces" / "a.trace").write_bytes(
        good + b"".join(map(msgpack.packb, wrong)) + encoded(delivery(2**63), delivery(3))
    )

    result = ingest(run)

    assert [row["sequence"] for row in table(run, "delivery")] == [1, 2, 3]
    assert (result.damage.bad_rows, result.damage.unknown_rows) == (3, 1)


@given(seed=st.integers(0, 2**32), damages=st.integers(1, 6))
def test_no_damage_crashes_the_reader(tmp_path_factory: pytest.TempPathFactory, seed: int, damages: int) -> None:
    """Whatever bytes are overwritten, the reader ends, and rows it cannot read are accounted for."""
    chance = random.Random(seed)
    data = bytearray(encoded(*(delivery(number) for number in range(40)), FAILED, examples.LOOKUP))
    for _ in range(damages):
        at = chance.randrange(len(data))
        data[at : at + chance.randrange(20)] = chance.randbytes(chance.randrange(20))
    path = tmp_path_factory.getbasetemp() / "damaged.trace"
    path.write_bytes(data)
    damage = Damage()

    rows = read_spool(path, damage)

    assert len(rows) >= 42 - 20 * damages
    assert all(isinstance(row, msgspec.Struct) for row in rows)


def test_a_file_renamed_while_it_is_read_is_found(run: Path) -> None:
    """A writer that finishes a file between the listing and the reading."""
    (run / "traces" / "a.trace").write_bytes(encoded(delivery(1)))

    assert read_spool(run / "traces" / "a.part", Damage()) == [delivery(1)]
    damage = Damage()
    assert read_spool(run / "traces" / "b.part", damage) == []
    assert damage.unreadable == ["b.part: it went away"]


def test_ingest_refuses_a_run_that_is_not_there(tmp_path: Path) -> None:
    """The error is the one of the run directory."""
    with pytest.raises(BadRun, match="is missing"):
        ingest(tmp_path / "none")


def test_schema_gives_spark_the_same_columns_with_unit_and_description() -> None:
    """Every column of every table says what it means; Spark and Arrow agree on names."""
    for each in TABLES.values():
        fields = each.spark().fields
        assert [field.name for field in fields] == each.arrow().names
        assert all(field.metadata["description"] for field in fields)
    assert DELIVERY.spark()["published_us"].metadata["unit"] == "us since the epoch"
