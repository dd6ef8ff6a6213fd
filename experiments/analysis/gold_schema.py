"""The columns of the gold tables. Times are microseconds unless a name says `ms`; `bucket` is that of histogram.py."""

from __future__ import annotations

import pyarrow as pa

RING = ("source", "ring_size", "vnodes", "successors")
"""What run.json says of the ring; every table about lookups begins with it."""

CLIENTS = ("source", "ring_size", "clients", "publishers", "subscriber_count", "payload_bytes")

COLUMNS: dict[str, tuple[str, ...]] = {
    "hops": (*RING, "seed", "mode", "hops", "count", "timeouts"),
    "lookup_latency": (*RING, "mode", "step", "bucket", "count"),
    "lookups": (*RING, "seed", "mode", "outcome", "count", "timeouts", "total_us", "max_us", "after_kill"),
    "node_load": (*RING, "node", "address", "lookups_routed", "timeouts", "owned", "keys", "hottest", "in_degree"),
    "hot_keys": ("rank", "key", "name", "count", "owners"),
    "consistency": ("keys", "keys_moved", "keys_conflicting", "lookups", "lookups_answered", "lookups_conflicting"),
    "slowest": (
        "rank",
        "trace_id",
        "mode",
        "name",
        "key",
        "outcome",
        "hops",
        "timeouts",
        "start_us",
        "duration_us",
        "path",
    ),
    "delivery": (*CLIENTS, "dissemination", "topic", "bucket", "count"),
    "flows": (
        "dissemination",
        "topic",
        "publisher",
        "subscriber",
        "label",
        "zone",
        "published",
        "delivered",
        "distinct",
        "lost",
        "duplicated",
        "total_us",
        "max_us",
    ),
    "timeline": ("second", "what", "kind", "count"),
    "failover": ("fault", "target", "at_us", "kind", "count", "first_ms", "last_ms", "ms"),
    "wire": ("topic", "sequence", "app_us", "wire_us"),
}

_TEXT = {
    *("source", "mode", "step", "outcome", "node", "address", "key", "name", "trace_id", "path", "dissemination"),
    *("topic", "publisher", "subscriber", "label", "zone", "what", "kind", "fault", "target"),
}
_SMALL = {"hops", "bucket", "rank", "ring_size", "vnodes", "successors", "clients", "publishers", "subscriber_count"}

_FRACTIONS = {"ms", "first_ms", "last_ms", "app_us", "wire_us"}


def schema(table: str, with_run: bool = False) -> pa.Schema:
    """The columns of a table, in a file; `run` comes from the name of the partition."""
    fields = [pa.field(name, _kind(name)) for name in COLUMNS[table]]
    return pa.schema([pa.field("run", pa.string()), *fields] if with_run else fields)


def _kind(name: str) -> pa.DataType:
    if name in _TEXT:
        return pa.string()
    if name in _SMALL:
        return pa.int32()
    return pa.float64() if name in _FRACTIONS else pa.int64()
