"""A run directory as an analysis leaves it, small, with every table and with names that mean harm."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.analysis.histogram import bucket
from experiments.analysis.summary import Summary

PAPER = Path(__file__).with_name("paper")
STARTED_US = 1_800_000_000_000_000
HOSTILE = "</script><img src=http://evil.invalid/x onerror=\"alert('topic')\"><b>$x^2$"
"""A topic's name."""

VERSIONS = {"python": "3.11.7", "libzmq": "4.3.5", **{f"package-{number}": f"2.{number}.0" for number in range(12)}}
"""Of a machine."""

SOURCES = {"live": 7, "mininet": 11, "sim": 13}


def run(name: str, source: str, size: int, **more: Any) -> dict[str, Any]:
    """What run.json says of one part."""
    machine = {"cpu": "AMD EPYC", "cores": 2, "memory_mb": 24_105, "kernel": "6.18.44-v669", "versions": VERSIONS}
    known = {"run": name, "source": source, "ring_size": size, "successors": 8, "commit": "0123456789abcdef"}
    return {**known, "started_us": STARTED_US, "seed": 1 if source == "sim" else None, "machine": machine, **more}


RUNS = [
    *(run(f"ring-{size}-{source}", source, size) for source in SOURCES for size in (8, 16, 32)),
    *(run(f"{mode}-{clients}", "live", 8, clients=clients, dissemination=mode)
      for mode in ("direct", "brokered") for clients in (2, 8, 32)),
    run("killed", "mininet", 16, vnodes=2, faults=[{"kind": "kill", "at_us": STARTED_US + 12_300_000, "target": "h3"}]),
]  # fmt: skip


def tables(slower: float = 1.0) -> dict[str, list[dict[str, Any]]]:
    """The gold tables of these runs; latencies are so many times as long."""
    found: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("hops", "lookups", "lookup_latency", "delivery", "flows")
    }
    for info in RUNS:
        ring = {name: info[name] for name in ("run", "source", "ring_size")} | {"mode": "iterative"}
        if info.get("clients"):
            _clients(found, info, slower)
            continue
        bits = round(math.log2(info["ring_size"]))
        found["hops"] += [{**ring, "hops": hops, "count": 40 * math.comb(bits, hops)} for hops in range(bits + 1)]
        failed = {"failed": 3} if info["run"] == "killed" else {}
        for outcome, count in {"ok": 40 * 2**bits, **failed}.items():
            found["lookups"].append(
                {**ring, "outcome": outcome, "count": count, "timeouts": 1, "total_us": 1, "max_us": 1}
            )
        for step in range(60):
            us = round(slower * SOURCES[info["source"]] * 60 * bits * 1.06**step)
            found["lookup_latency"].append(
                {**ring, "step": "lookup", "bucket": bucket(us), "count": 1 + step * (60 - step)}
            )
    nodes = [f"{node:016x}" for node in range(0, 2**64, 2**60)]
    found["node_load"] = [
        {"run": "killed", "node": node, "address": f"10.0.0.{place}:5000", "lookups_routed": 40 + 9 * place,
         "owned": 20 + 5 * place, "in_degree": 3 + place % 5}
        for place, node in enumerate(nodes)
    ]  # fmt: skip
    found["hot_keys"] = [
        {"run": "killed", "key": node, "name": HOSTILE, "count": 90 - place} for place, node in enumerate(nodes)
    ]
    found["slowest"] = [
        {"run": "killed", "rank": rank, "trace_id": f"{rank:032x}", "duration_us": 90_000 - 4_000 * rank,
         "path": f"10.0.0.1:5000 412 us > {HOSTILE} timed out after 31000 us"}
        for rank in range(1, 11)
    ]  # fmt: skip
    found["wire"] = [
        {"run": "killed", "topic": HOSTILE, "sequence": number, "app_us": 900 + number % 400,
         "wire_us": 200 + number % 90 if number % 7 else None}
        for number in range(900)
    ]  # fmt: skip
    kinds = {"lookup ok": 40, "delivery": 900, "lookup failed": 3}
    found["timeline"] = [
        {"run": "killed", "second": second, "kind": kind, "count": count + second}
        for kind, count in kinds.items()
        for second in range(30)
        if kind != "lookup failed" or second in (12, 13)
    ]
    found["failover"] = [
        {"run": "killed", "fault": "kill", "target": "h3", "kind": kind, "ms": ms, "count": 3}
        for kind, ms in (("lookup failed", 812.5), ("delivery brokered", 431.0))
    ]  # fmt: skip
    found["consistency"] = [{"run": "killed", "lookups": 640, "lookups_answered": 637, "lookups_conflicting": 2}]
    return found


def _clients(found: dict[str, list[dict[str, Any]]], info: dict[str, Any], slower: float) -> None:
    """Deliveries of one number of clients."""
    own = {"run": info["run"], "dissemination": info["dissemination"], "topic": HOSTILE}
    base = slower * (400 if info["dissemination"] == "direct" else 900) * info["clients"] ** 0.3
    found["delivery"] += [{**own, "bucket": bucket(round(base * 1.05**step)), "count": 40 - step} for step in range(40)]
    found["flows"].append(
        {**own, "publisher": "p", "subscriber": "s", "published": 820, "distinct": 820, "lost": 0, "duplicated": 1}
    )


def analysed(directory: Path, slower: float = 1.0) -> Path:
    """Write RUN/analysis: summary.json, which says of what runs, and the gold tables."""
    place = directory / "analysis"
    place.mkdir(parents=True)
    tables_of_rows = "subscribers", "deliveries", "lookups", "hops", "events", "timeline", "latency"
    empty: dict[str, Any] = {name: [] for name in tables_of_rows}
    damage = {"cut_tails": 1, "unreadable": [f"traces/{HOSTILE}.trace: empty"]}
    summary = msgspec.convert(
        {**empty, "runs": RUNS, "rows": {"lookup": 9_000, "delivery": 4_920}, "damage": damage}, Summary
    )
    (place / "summary.json").write_bytes(summary.as_json())
    for name, rows in tables(slower).items():
        for of in dict.fromkeys(row["run"] for row in rows):
            folder = place / "gold" / name / f"run={of}"
            folder.mkdir(parents=True)
            own = [{key: value for key, value in row.items() if key != "run"} for row in rows if row["run"] == of]
            pq.write_table(pa.Table.from_pylist(own), folder / "part-0.parquet")
    return directory


def of_papers(directory: Path) -> Path:
    """What `python -m sim paper` leaves, without its cells but for one."""
    shutil.copytree(PAPER, directory)
    cell = directory / "cells" / "path-length" / "seed=3"
    cell.mkdir(parents=True)
    (cell / "result.json").write_bytes(msgspec.json.encode({"parameters": {"seed": 3}, "commit": "0123456789abcdef"}))
    return directory
