"""The columns of what is counted, for tables that have no rows yet."""

from __future__ import annotations

import pyarrow as pa

_TEXT = {
    *("run", "mode", "outcome", "step", "via", "node", "address", "topic", "publisher", "subscriber", "what", "kind"),
    *("trace_id", "name", "key", "path"),
}
_SMALL = ("hops", "bucket", "rank")


def _schema(*names: str) -> pa.Schema:
    kinds = {**dict.fromkeys(_TEXT, pa.string()), **dict.fromkeys(_SMALL, pa.int32()), "bits": pa.binary()}
    return pa.schema([(name, kinds.get(name, pa.int64())) for name in names])


COLUMNS = {
    "cells": _schema("run", "mode", "outcome", "hops", "count", "timeouts", "total_us", "max_us", "after_kill"),
    "lookup_latency": _schema("run", "mode", "step", "bucket", "count"),
    "edges": _schema("run", "via", "node", "address", "exchanges", "timeouts"),
    "slowest": _schema(
        "run", "trace_id", "mode", "name", "key", "outcome", "hops", "timeouts", "start_us", "duration_us", "path"
    ),
    "blocks": _schema(
        "run",
        "mode",
        "topic",
        "publisher",
        "subscriber",
        "block",
        "first",
        "last",
        "delivered",
        "bits",
        "total_us",
        "max_us",
        "after_kill",
        "resumed_us",
    ),
    "by_subscriber": _schema("run", "subscriber", "bucket", "count"),
    "by_topic": _schema("run", "mode", "topic", "bucket", "count"),
    "publications": _schema("run", "topic", "publisher", "first", "last"),
    "seconds": _schema("run", "what", "kind", "second", "count", "first_us", "last_us"),
    "after": _schema("run", "at_us", "kind", "count", "first_us", "last_us"),
}

OF_KEYS = {
    "hottest": _schema("run", "rank", "key", "name", "lookups", "owners"),
    "owned": _schema("run", "node", "owned", "keys", "hottest"),
    "consistency": _schema(
        "run", "keys", "keys_moved", "keys_conflicting", "lookups", "lookups_answered", "lookups_conflicting"
    ),
}
