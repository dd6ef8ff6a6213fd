"""The columns of every table that a run leaves: their types, their units and what they mean.

One list a table serves Arrow (which writes Parquet) and Spark (which reads it). Identifiers are 16 hexadecimal digits,
because 64 unsigned bits do not fit Spark's long. Each row carries what its run.json says about the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from chord.trace import EventTrace, HopTrace, LookupTrace
from experiments.traces.run import RunInfo
from pubsub.trace import DeliveryTrace, PublicationTrace

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

TEXT = pa.string()
LABEL = pa.dictionary(pa.int32(), pa.string())
COUNT = pa.int32()
LONG = pa.int64()
HOPS = pa.list_(
    pa.struct([("i", COUNT), ("node", TEXT), ("address", TEXT), ("rtt_us", LONG), ("timed_out", pa.bool_())])
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, Arrow type, unit ("" if it has none) and meaning, and how a trace row yields its value."""

    name: str
    kind: pa.DataType
    unit: str
    meaning: str
    convert: Callable[[Any], object] | None = None

    def field(self) -> pa.Field:
        """The Arrow field, unit and meaning in its metadata."""
        return pa.field(self.name, self.kind, metadata={"unit": self.unit, "description": self.meaning})


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the trace Struct it comes from and its own columns, without those of the run."""

    name: str
    row: type[msgspec.Struct]
    columns: tuple[Column, ...]

    def arrow(self) -> pa.Schema:
        """The Arrow schema, the run's columns first."""
        own = {column.name for column in self.columns}
        fields = [column.field() for column in RUN_COLUMNS if column.name not in own]
        return pa.schema(fields + [column.field() for column in self.columns])

    def spark(self) -> StructType:
        """The same for Spark, unit and description in each field's metadata."""
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StructField, StructType

        return StructType(
            [
                StructField(field.name, from_arrow_type(plain_type(field.type)), True, _decoded(field.metadata))
                for field in self.arrow()
            ]
        )

    def batch(self, rows: Sequence[Any], run: RunInfo) -> pa.RecordBatch:
        """Trace rows as one Arrow batch. Raises an Arrow error or OverflowError when a value does not fit."""
        schema = self.arrow()
        own = {column.name: column for column in self.columns}
        arrays = [
            _array(field.type, rows, own[field.name])
            if field.name in own
            else _constant(field.type, getattr(run, field.name), len(rows))
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without its dictionary encoding."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _array(kind: pa.DataType, rows: Sequence[Any], column: Column) -> pa.Array:
    values = map(attrgetter(column.name), rows)
    if column.convert is not None:
        values = map(column.convert, values)
    if pa.types.is_dictionary(kind):
        return pa.array(list(values), kind.value_type).dictionary_encode()
    return pa.array(list(values), kind)


def _constant(kind: pa.DataType, value: object, length: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, plain_type(kind)), length).cast(kind)


def _decoded(metadata: dict[bytes, bytes]) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in metadata.items()}


def _hexadecimal(identifier: int | None) -> str | None:
    return None if identifier is None else f"{identifier:016x}"


def _hops(hops: Sequence[HopTrace]) -> list[dict[str, object]]:
    return [
        {
            "i": index,
            "node": f"{hop.node:016x}",
            "address": hop.address,
            "rtt_us": hop.rtt_us,
            "timed_out": hop.timed_out,
        }
        for index, hop in enumerate(hops)
    ]


RUN_COLUMNS = (
    Column("run", LABEL, "", "which run, as its run.json names it"),
    Column("source", LABEL, "", "live, mininet, sim, static or unknown"),
    Column("cluster", LABEL, "", "the cluster of the ring"),
    Column("ring_size", COUNT, "members", "virtual nodes of the ring; null if unknown"),
    Column("successors", COUNT, "entries", "length of each successor list; null if unknown"),
    Column("bits", COUNT, "bits", "length of an identifier; null if unknown"),
    Column("clients", COUNT, "clients", "publishers and subscribers; null in a run that is not about their number"),
    Column("seed", LONG, "", "seed of a simulated run; null for a real one"),
    Column("commit", LABEL, "", "the commit that ran"),
)

LOOKUP = Table(
    "lookup",
    LookupTrace,
    (
        Column("trace_id", TEXT, "", "identifier of this lookup, 16 hexadecimal digits", _hexadecimal),
        Column("cluster", LABEL, "", "the cluster of the ring"),
        Column("mode", LABEL, "", "iterative, recursive, or cached (the owner alone was asked)"),
        Column("origin", LABEL, "", "who asked"),
        Column("name", TEXT, "", "the name looked up; empty when only a key was given"),
        Column("key", TEXT, "", "the key, 16 hexadecimal digits", _hexadecimal),
        Column("owner", TEXT, "", "the key's owner; null unless the outcome is ok", _hexadecimal),
        Column("owner_address", LABEL, "", "where the owner is reached"),
        Column("outcome", LABEL, "", "ok, or the class name of the error"),
        Column("hops", COUNT, "forwards", "forwards after the node first asked, up to the key's predecessor"),
        Column("timeouts", COUNT, "exchanges", "exchanges that timed out"),
        Column("start_us", LONG, "us since the epoch", "when the lookup began, by the asker's wall clock"),
        Column("duration_us", LONG, "us", "until the key's predecessor had named the owner, by a monotonic clock"),
        Column("owner_us", LONG, "us", "the last step, to the owner"),
        Column("hop_list", HOPS, "rtt_us: us", "each exchange in order: node, address, round trip, timed out", _hops),
    ),
)

DELIVERY = Table(
    "delivery",
    DeliveryTrace,
    (
        Column("topic", LABEL, "", "the topic"),
        Column("mode", LABEL, "", "direct or brokered"),
        Column("publisher", LABEL, "", "who published"),
        Column("subscriber", LABEL, "", "whose application received"),
        Column("sequence", LONG, "", "number of the sample by this publisher on this topic, from 1"),
        Column("published_us", LONG, "us since the epoch", "by the publisher's wall clock"),
        Column("received_us", LONG, "us since the epoch", "by the subscriber's wall clock"),
    ),
)

PUBLICATION = Table(
    "publication",
    PublicationTrace,
    (
        Column("topic", LABEL, "", "the topic"),
        Column("publisher", LABEL, "", "who published"),
        Column("first", LONG, "", "first sequence of the interval"),
        Column("last", LONG, "", "last sequence of the interval, included"),
        Column("at_us", LONG, "us since the epoch", "when the interval ended"),
    ),
)

EVENT = Table(
    "event",
    EventTrace,
    (
        Column("kind", LABEL, "", "what happened: bound, ready, joined, dropped, left ... (chord/trace.py)"),
        Column("node", TEXT, "", "the member, 16 hexadecimal digits", _hexadecimal),
        Column("address", LABEL, "", "where the member is reached"),
        Column("at_us", LONG, "us since the epoch", "when"),
        Column("detail", TEXT, "", "what else there is to say"),
    ),
)

TABLES = {table.name: table for table in (LOOKUP, DELIVERY, PUBLICATION, EVENT)}
