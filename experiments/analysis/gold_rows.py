"""From what was counted to the rows of the gold tables of one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from experiments.analysis import losses
from experiments.analysis.counted import only
from experiments.analysis.counts import Counts
from experiments.analysis.failover import failovers
from experiments.analysis.gold_schema import CLIENTS, COLUMNS, RING, schema
from experiments.analysis.lookups import OK
from experiments.analysis.state import State
from experiments.traces import beside
from experiments.traces.run import Part, RunInfo

__all__ = ["COLUMNS", "rows_of"]

Row = dict[str, Any]


def rows_of(part: Part, state: State, counts: Counts) -> dict[str, pa.Table]:
    """Every gold table of one part of a run. Raises BadRun for a file beside its traces that is damaged."""
    info = part.info

    def counted(name: str) -> list[Row]:
        rows: list[Row] = only({**state.tables, **state.of_keys}[name], info.run).to_pylist()
        return rows

    flows = [flow for flow in counts.flows if flow.run == info.run]
    sent = [each for each in counts.publications if each.run == info.run]
    cells = counted("cells")
    made: dict[str, Iterable[Row]] = {
        "hops": [*_hops(info, cells), *_static(info, beside.aggregates(part))],
        "lookup_latency": _with(info, RING, counted("lookup_latency")),
        "lookups": _with(info, (*RING, "seed"), _summed(cells)),
        "node_load": _with(info, RING, _node_load(counted("edges"), counted("owned"))),
        "hot_keys": ({**row, "count": row["lookups"]} for row in counted("hottest")),
        "consistency": counted("consistency"),
        "slowest": ({**row, "rank": rank} for rank, row in enumerate(counted("slowest"), 1)),
        "delivery": _with(info, CLIENTS, counted("by_topic"), dissemination=lambda row: row["mode"]),
        "flows": losses.flow_rows(info, flows, sent),
        "timeline": counted("seconds"),
        "failover": failovers(info, flows, counted("after")),
        "wire": beside.wire(part),
    }
    return {name: _table(name, rows) for name, rows in made.items()}


def _table(name: str, rows: Iterable[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema(name))


def _with(info: RunInfo, names: Iterable[str], rows: Iterable[Row], **more: Callable[[Row], Any]) -> Iterable[Row]:
    """The rows, each with what run.json says under these names."""
    told = {name: getattr(info, name) for name in names}
    for row in rows:
        yield {**row, **told, **{name: value(row) for name, value in more.items()}}


def _hops(info: RunInfo, cells: Iterable[Row]) -> Iterable[Row]:
    """Of the lookups that were answered."""
    return _with(info, (*RING, "seed"), (cell for cell in cells if cell["outcome"] == OK))


def _static(info: RunInfo, rows: Iterable[Row]) -> Iterable[Row]:
    """Of static rings, which say themselves of which rings they are."""
    for row in rows:
        told = {name: row.get(name, getattr(info, name)) for name in (*RING, "seed")}
        yield {**row, **told}


def _summed(cells: Iterable[Row]) -> Iterable[Row]:
    """Cells of equal mode and outcome put together."""
    found: dict[tuple[str, str], Row] = {}
    for cell in cells:
        key = cell["mode"], cell["outcome"]
        row = found.setdefault(key, {"mode": key[0], "outcome": key[1], "max_us": cell["max_us"]})
        row["max_us"] = max(row["max_us"], cell["max_us"])
        for name in ("count", "timeouts", "total_us", "after_kill"):
            row[name] = row.get(name, 0) + cell[name]
    return found.values()


def _node_load(edges: Iterable[Row], owned: Iterable[Row]) -> Iterable[Row]:
    """One row a node: how often it was asked on the way of a lookup, how many nodes named it, and what it owns."""
    found: dict[str, Row] = {}
    named: dict[str, set[str]] = defaultdict(set)

    def row(node: str) -> Row:
        nothing = dict.fromkeys(("lookups_routed", "timeouts", "owned", "keys", "hottest"), 0)
        return found.setdefault(node, {"node": node, "address": None, "in_degree": None, **nothing})

    for edge in edges:
        own = row(edge["node"])
        own["address"] = edge["address"]
        own["lookups_routed"] += edge["exchanges"]
        own["timeouts"] += edge["timeouts"]
        if edge["via"] is not None:
            named[edge["node"]].add(edge["via"])
    for node, others in named.items():
        found[node]["in_degree"] = len(others)
    for each in owned:
        own = row(each["node"])
        own.update(owned=each["owned"], keys=each["keys"], hottest=each["hottest"])
    return [found[node] for node in sorted(found)]
