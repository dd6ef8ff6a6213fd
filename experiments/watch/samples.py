"""What the stream reads: one row a lookup or a delivery, with what its window counts and what makes it itself.

Real clocks give the event time that the watermark follows. Simulated runs have virtual clocks that each begin at 0:
their windows are of virtual time, and for the watermark they happened when they were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec
import pyarrow as pa

from chord.trace import LookupTrace
from experiments.analysis.lookups import OK
from experiments.analysis.silver import IDENTITIES
from experiments.traces.run import RunInfo
from pubsub.trace import DeliveryTrace

LOOKUP, DELIVERY = "lookup", "delivery"
VIRTUAL = ("sim", "static")
AHEAD_US = 3_600_000_000
"""A clock that is further ahead than this is wrong: its rows would make all others late."""

ID_BYTES = 16

_LABEL = pa.dictionary(pa.int32(), pa.string())

SCHEMA = pa.schema(
    [
        ("run", _LABEL),
        ("source", _LABEL),
        ("what", _LABEL),
        ("mode", _LABEL),
        ("ok", pa.bool_()),
        ("hops", pa.int32()),
        ("timeouts", pa.int32()),
        ("latency_us", pa.int64()),
        ("start_us", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("id", pa.binary()),
    ]
)
"""`start_us`: by the run's own clock, which windows are cut by; `at`: what the watermark follows; `id`: a digest of
what identifies the row (`experiments.analysis.silver`). `hops` is null in deliveries."""

SPARK_SCHEMA = (
    "run string, source string, what string, mode string, ok boolean, hops int, timeouts int, latency_us bigint, "
    "start_us bigint, at timestamp, id binary"
)

_ENCODE = msgspec.msgpack.Encoder().encode
_OF = {what: tuple(column for column in IDENTITIES[what].columns if column != "run") for what in (LOOKUP, DELIVERY)}


def is_virtual(info: RunInfo) -> bool:
    """Whether the times of a run are simulated."""
    return info.source in VIRTUAL or info.started_us <= 0


def samples(rows: Sequence[object], info: RunInfo, now_us: int) -> tuple[pa.RecordBatch, int]:
    """The samples among some trace rows that were read at `now_us`; and how many rows were in the wrong form."""
    virtual = is_virtual(info)
    found = []
    bad = 0
    for row in rows:
        if isinstance(row, LookupTrace):
            sample = _lookup(row)
            whole = row.duration_us >= 0 and _fits(row.hops, row.timeouts)
        elif isinstance(row, DeliveryTrace):
            sample = _delivery(row)
            whole = row.sequence > 0
        else:
            continue
        what, start_us = sample[0], sample[6]
        if not whole or not 0 <= start_us <= now_us + AHEAD_US or abs(sample[5]) > now_us:
            bad += 1
            continue
        identity = [info.run, what, *(getattr(row, column) for column in _OF[what])]
        digest = blake2b(_ENCODE(identity), digest_size=ID_BYTES).digest()
        found.append((*sample, now_us if virtual else start_us, digest))
    return _batch(found, info), bad


def _lookup(row: LookupTrace) -> tuple[str, str, bool, int | None, int, int, int]:
    return LOOKUP, row.mode, row.outcome == OK, row.hops, row.timeouts, row.duration_us, row.start_us


def _delivery(row: DeliveryTrace) -> tuple[str, str, bool, int | None, int, int, int]:
    return DELIVERY, row.mode, True, None, 0, row.received_us - row.published_us, row.received_us


def _fits(*values: int) -> bool:
    return all(0 <= value < 1 << 31 for value in values)


def _batch(found: Sequence[tuple[object, ...]], info: RunInfo) -> pa.RecordBatch:
    columns = list(zip(*found, strict=True)) if found else [()] * (len(SCHEMA) - 2)
    constant = [[info.run] * len(found), [info.source] * len(found)]
    arrays = [
        pa.array(values, field.type.value_type).dictionary_encode()
        if pa.types.is_dictionary(field.type)
        else pa.array(values, field.type)
        for field, values in zip(SCHEMA, [*constant, *columns], strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
