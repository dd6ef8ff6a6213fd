"""Writes an analysis down: summary.json, and one CSV file a table for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from experiments.analysis.summary import Summary, Verdict
from experiments.traces.run import BadRun

TABLES = (
    "subscribers",
    "disseminations",
    "deliveries",
    "clients",
    "lookups",
    "ring_sizes",
    "static_rings",
    "hops",
    "events",
    "timeline",
    "latency",
)
SUMMARY_FILE = "summary.json"
VERDICT_FILE = "verdict.json"


def write(summary: Summary, out: Path) -> list[str]:
    """Write the tables that have rows into `out`; return their names. Tables of an earlier analysis go."""
    out.mkdir(parents=True, exist_ok=True)
    names = []
    for table in TABLES:
        path = out / f"{table}.csv"
        path.unlink(missing_ok=True)
        rows = [_flat(msgspec.to_builtins(row)) for row in getattr(summary, table)]
        if rows:
            _write_csv(path, rows)
            names.append(path.name)
    return names


def write_summary(summary: Summary, out: Path) -> Path:
    """Write summary.json, whole or not at all."""
    return _write_whole(out / SUMMARY_FILE, summary.as_json())


def write_verdict(verdict: Verdict, run: Path) -> Path:
    """Write verdict.json beside run.json, whole or not at all, for every later analysis of the run."""
    return _write_whole(run / VERDICT_FILE, msgspec.json.format(msgspec.json.encode(verdict), indent=2) + b"\n")


def read_verdict(run: Path) -> Verdict | None:
    """The verdict that a run left, if it left one. Raises BadRun."""
    path = run / VERDICT_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Verdict)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise BadRun(f"{path} is no verdict ({error}); remove it to analyse the run without one") from None


def _write_whole(path: Path, content: bytes) -> Path:
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(content)
    return fresh.replace(path)


def _write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """One level: `latency_us: {p50: 1}` becomes `latency_us_p50: 1`, and a list its items with spaces between."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat.update({f"{name}_{key}": each for key, each in value.items()})
        elif isinstance(value, list):
            flat[name] = " ".join(map(str, value))
        else:
            flat[name] = value
    return flat
