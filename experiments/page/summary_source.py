"""What `analyse` says in summary.json and latency.csv, as rows of the gold tables."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from experiments.analysis.histogram import bucket
from experiments.page import rows
from experiments.page.material import Material, Run
from experiments.report.files import SUMMARY_FILE
from experiments.traces.run import BadRun

LATENCY_FILE = "latency.csv"
DAMAGE = {
    "bad_rows": "{:,} rows in the wrong form were left out",
    "garbage": "{:,} stretches of garbage were passed over",
    "cut_tails": "{:,} files end inside a row, as after a kill",
    "unknown_rows": "{:,} rows of unknown kinds were left out",
    "newer_files": "{:,} files come from a newer version; rows may be missing",
}

Found = Mapping[str, Any]


def add(material: Material, place: Path) -> None:
    """Take in summary.json and latency.csv of an analysis, as far as they are there. Raises BadRun."""
    path = place / SUMMARY_FILE
    if not path.exists():
        return
    try:
        summary: Found = msgspec.json.decode(path.read_bytes())
        _take(material, summary, place)
    except (OSError, msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        raise BadRun(f"{path} cannot be read ({error!r}); analyse the run again") from None


def _take(material: Material, summary: Found, place: Path) -> None:
    material.runs += [_run(each) for each in summary["runs"]]
    material.rows |= summary["rows"]
    damage = summary["damage"]
    material.damage += [text.format(damage[key]) for key, text in DAMAGE.items() if damage.get(key)]
    material.damage += [f"not read: {text}" for text in damage.get("unreadable", [])]
    sources = {run.name: run for run in material.runs}
    for row in summary["lookups"]:
        material.lookups += _lookups(row)
    for row in summary["hops"]:
        run = sources[row["run"]]
        material.hops.append(
            rows.Hops(**row, source=run.source, successors=run.successors, vnodes=run.vnodes, seed=run.seed)
        )
    material.timeline += [rows.Second(**row) for row in summary["timeline"]]
    material.flows += [_flow(row) for row in summary["subscribers"]]
    for row in summary.get("disseminations", []):
        if row["failover_ms"] is not None:
            waited = {"kind": f"delivery {row['mode']}", "fault": "primary kill", "ms": row["failover_ms"]}
            material.failover.append(rows.Failover(run=row["run"], **waited))
    if (demo := summary.get("demo")) and demo["lookups_checked"]:
        wrong = demo["wrong_after_kill"] + demo["wrong_before_kill"]
        material.consistency.append(
            rows.Owners(run=summary["runs"][0]["run"], checked=demo["lookups_checked"], wrong=wrong)
        )
    _latencies(material, summary, place / LATENCY_FILE)


def _run(info: Found) -> Run:
    known = {name: info[name] for name in Run.__dataclass_fields__ if info.get(name) is not None}
    return Run(**{**known, "name": info["run"]})


def _lookups(row: Found) -> Iterator[rows.Lookups]:
    """A row an outcome; the time-outs, which the summary does not tell apart, are with the first."""
    shared = {name: row[name] for name in ("run", "source", "ring_size", "successors", "mode")}
    latency = row["latency_us"]
    for place, (outcome, count) in enumerate(sorted(row["outcomes"].items(), key=lambda pair: pair[0] != "ok")):
        timed = {"total_us": round(latency["mean"] * count), "max_us": latency["max"]} if outcome == "ok" else {}
        timeouts = 0 if place else row["timeouts"]
        yield rows.Lookups(**shared, outcome=outcome, count=count, timeouts=timeouts, **timed)


def _flow(row: Found) -> rows.Flow:
    named = {name: row[name] for name in ("run", "published", "distinct", "lost", "duplicated")}
    topics = ", ".join(row["topics"])
    return rows.Flow(**named, topic=topics, subscriber=row["subscriber"], dissemination=row["mode"] or "unknown")


def _latencies(material: Material, summary: Found, path: Path) -> None:
    """Shares in latency.csv back to counts. What stands for all topics is left out: it is the sum of theirs."""
    if not path.exists():
        return
    totals = {("lookup", row["run"], row["mode"], ""): row["ok"] for row in summary["lookups"]}
    for row in summary["deliveries"]:
        totals["delivery", row["run"], row["mode"], row["topic"] or ""] = row["count"]
    before: dict[tuple[str, str, str, str], float] = defaultdict(float)
    sources = {run.name: run for run in material.runs}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            key = row["table"], row["run"], row["mode"], row["topic"]
            share = float(row["share"])
            counted = {"bucket": bucket(int(row["latency_us"])), "count": round((share - before[key]) * totals[key])}
            before[key] = share
            run = sources[row["run"]]
            if row["table"] == "lookup":
                material.lookup_latency.append(
                    rows.LookupLatency(
                        run=run.name, source=run.source, ring_size=run.ring_size, mode=row["mode"], **counted
                    )
                )
            elif row["topic"]:
                material.delivery.append(
                    rows.Delivery(run=run.name, dissemination=row["mode"], topic=row["topic"], **counted)
                )
