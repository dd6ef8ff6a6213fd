"""What the pipeline counts of lookups, counted by DuckDB: the reference of `bench spark-gold` in time and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from experiments.analysis.histogram import BUCKETS_AN_OCTAVE, ROUNDING
from experiments.analysis.keys import HOTTEST

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SLOWEST = 20

BUCKET = f"CASE WHEN us < 1 THEN -1 ELSE floor(ln(us) / ln(2) * {BUCKETS_AN_OCTAVE} + {ROUNDING})::INT END"

QUERIES = {
    "cells": """
        SELECT run, mode, outcome, hops, count(*) AS count, sum(timeouts)::BIGINT AS timeouts,
            sum(duration_us)::BIGINT AS total_us, max(duration_us) AS max_us, 0::BIGINT AS after_kill
        FROM lookup GROUP BY ALL""",
    "lookup_latency": f"""
        SELECT run, mode, step, {BUCKET} AS bucket, count(*) AS count FROM (
            SELECT run, mode, CASE outcome WHEN 'ok' THEN 'lookup' ELSE 'failed' END AS step, duration_us AS us
            FROM lookup
            UNION ALL SELECT run, mode, 'owner', owner_us FROM lookup WHERE outcome = 'ok')
        GROUP BY ALL""",
    "seconds": """
        SELECT run, 'lookup' AS what, 'lookup ' || outcome AS kind, since // 1000000 AS second, count(*) AS count,
            min(since) AS first_us, max(since) AS last_us
        FROM (SELECT run, outcome, start_us - started_us AS since FROM lookup JOIN runs USING (run)) GROUP BY ALL""",
    "edges": """
        SELECT run, via, hop.node AS node, hop.address AS address, count(*) AS exchanges,
            count_if(hop.timed_out) AS timeouts
        FROM (
            SELECT run, hop, last_value(CASE WHEN NOT hop.timed_out THEN hop.node END IGNORE NULLS) OVER (
                PARTITION BY run, trace_id ORDER BY hop.i ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS via
            FROM (SELECT run, trace_id, unnest(hop_list) AS hop FROM lookup WHERE hop_list IS NOT NULL))
        GROUP BY ALL""",
    "slowest": f"""
        SELECT run, trace_id, mode, name, key, outcome, hops, timeouts, start_us, duration_us,
            coalesce(list_aggregate([hop.address || CASE WHEN hop.timed_out THEN ' timed out after ' ELSE ' ' END
                || hop.rtt_us || ' us' FOR hop IN hop_list], 'string_agg', ' > '), '') AS path
        FROM (
            SELECT run, unnest(max_by(lookup, (duration_us, -start_us), {SLOWEST}), max_depth := 2)
            FROM lookup GROUP BY run)""",
    "hottest": f"""
        SELECT run, row_number() OVER (PARTITION BY run ORDER BY lookups DESC, key)::INT AS rank, key, name, lookups,
            owners
        FROM (
            SELECT run, key, max(name) AS name, sum(lookups)::BIGINT AS lookups, count(owner) AS owners
            FROM keys GROUP BY ALL)
        QUALIFY rank <= {HOTTEST}""",
    "owned": """
        SELECT run, owner AS node, sum(lookups)::BIGINT AS owned, count(*) AS keys, max(lookups) AS hottest
        FROM keys WHERE owner IS NOT NULL GROUP BY ALL""",
    "consistency": """
        SELECT run, count(*) AS keys, count_if(owners > 1 AND NOT at_once) AS keys_moved,
            count_if(at_once) AS keys_conflicting, sum(lookups)::BIGINT AS lookups,
            sum(answered)::BIGINT AS lookups_answered,
            sum(CASE WHEN at_once THEN answered - most ELSE 0 END)::BIGINT AS lookups_conflicting
        FROM (
            SELECT run, key, count(owner) AS owners, sum(lookups) AS lookups,
                coalesce(sum(lookups) FILTER (owner IS NOT NULL), 0) AS answered,
                max(lookups) FILTER (owner IS NOT NULL) AS most,
                coalesce(bool_or(first_us <= before_us) FILTER (owner IS NOT NULL), false) AS at_once
            FROM (
                SELECT *, max(CASE WHEN owner IS NOT NULL THEN last_us END) OVER (
                    PARTITION BY run, key ORDER BY owner IS NULL, first_us, last_us, lookups, owner
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_us
                FROM keys)
            GROUP BY ALL)
        GROUP BY ALL""",
}

KEYS = """
    CREATE OR REPLACE TEMP TABLE keys AS
    SELECT run, key, CASE WHEN outcome = 'ok' THEN owner END AS owner, count(*) AS lookups,
        min(start_us + duration_us) AS first_us, max(start_us + duration_us) AS last_us, max(name) AS name
    FROM lookup GROUP BY ALL"""


def connect(threads: int, memory: str) -> DuckDBPyConnection:
    """A database in memory."""
    import duckdb

    return duckdb.connect(config={"threads": threads, "memory_limit": memory, "preserve_insertion_order": False})


def count(connection: DuckDBPyConnection, files: Sequence[str], started_us: Mapping[str, int]) -> dict[str, pa.Table]:
    """What is counted of the lookups in these Parquet files, by the names of counted.py and keys.py."""
    runs = pa.table({"run": list(started_us), "started_us": list(started_us.values())})
    connection.register("runs", runs)
    names = ", ".join(f"'{name}'" for name in files)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW lookup AS FROM read_parquet([{names}], hive_partitioning = false)")
    connection.execute(KEYS)
    return {name: connection.sql(query).to_arrow_table() for name, query in QUERIES.items()}
