"""What the commands of `overlay` print for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from chord.amounts import counted
from experiments.overlay.judged import Comparison, Difference, Way
from experiments.overlay.lookups_of import LEAST
from experiments.overlay.measures import Metrics, Spread
from experiments.overlay.predicting import Fitted, Prediction
from experiments.overlay.stretch import Stretch

NOTED_AT_MOST = 5
PREDICTED = ("members", "lookups", "p50 us", "predicted", "error", "same hops")


def _table(*columns: str, text: int = 1) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < text else "right", overflow="fold")
    return table


def metrics_tables(metrics: Metrics, console: Console) -> None:
    """Every measure, and one word on what it says."""
    source = "real" if metrics.source == "live" else "simulated"
    console.print(
        f"{counted(metrics.members, 'member')} ({source}) on {counted(metrics.processes, 'process', 'processes')}, "
        f"{counted(metrics.pointers, 'pointer')}; "
        + (
            "every pointer as it should be"
            if not metrics.faults
            else f"{counted(metrics.faults, 'fault')}: pointers not as they should be, or members that did not answer"
        )
    )
    console.print()
    table = _table("hops", "mean", "p50", "p99", "most", "half log2 N")
    for name, found in (("lookups", metrics.greedy), ("shortest ways", metrics.shortest)):
        figures = (f"{found.mean:.3f}", str(found.p50), str(found.p99), str(found.most), f"{metrics.half_log2_n:.3f}")
        table.add_row(name, *figures)
    console.print(table)
    console.print(_distribution(metrics))
    console.print()
    spreads = _table("of the members", "mean", "least", "most", "variation")
    for name, spread, form in (
        ("out-degree", metrics.out_degree, ".1f"),
        ("in-degree", metrics.in_degree, ".1f"),
        ("keys owned (share)", metrics.arc, ".4f"),
        ("lookups through it (share)", metrics.passed, ".4f"),
        ("betweenness (over mean)", metrics.betweenness, ".2f"),
    ):
        spreads.add_row(name, *_figures(spread, form))
    console.print(spreads)
    console.print()
    for line in _sentences(metrics):
        console.print(line)


def _figures(spread: Spread, form: str) -> list[str]:
    return [format(each, form) for each in (spread.mean, spread.least, spread.most)] + [f"{spread.variation:.2f}"]


def _distribution(metrics: Metrics) -> Table:
    table = _table("share of ways", *map(str, range(metrics.greedy.most + 1)))
    for name, found in (("lookups", metrics.greedy), ("shortest ways", metrics.shortest)):
        shares = [found.distribution.get(hops, 0.0) for hops in range(metrics.greedy.most + 1)]
        table.add_row(name, *(f"{share:.1%}" for share in shares))
    return table


def _sentences(metrics: Metrics) -> list[str]:
    lines = []
    if metrics.strongly_connected:
        lines.append(f"strongly connected: everybody reaches everybody; diameter {metrics.diameter}")
    else:
        lines.append(
            f"not strongly connected: {metrics.components} components, "
            f"{metrics.unreachable:.1%} of lookups have no way by these pointers"
        )
    if metrics.misled:
        lines.append(f"{metrics.misled:.1%} of lookups end at a member that names a wrong owner")
    if metrics.in_degree_by_arc is not None:
        lines.append(f"in-degree follows the keys owned: correlation {metrics.in_degree_by_arc:.2f}")
    if metrics.algebraic_connectivity is not None:
        lines.append(
            f"algebraic connectivity {metrics.algebraic_connectivity:.3f}: at least so many members have to fail "
            "before others are cut off, unless all know all"
        )
        lines.append(f"spectral gap {metrics.spectral_gap:.3f} of 1: half of it bounds the narrowest cut from below")
    if not metrics.exact:
        lines.append(
            f"paths: to {metrics.keys} sampled keys; betweenness: from {metrics.betweenness_pivots} sampled members"
        )
    return lines


def stretch_table(rows: Sequence[Stretch], console: Console) -> None:
    """A row for each way of looking up."""
    table = _table("way", "lookups", "stretch p10", "p50", "p90", "mean", "latency ms", "direct ms")
    for row in rows:
        figures = [f"{each:.2f}" for each in (row.p10, row.p50, row.p90, row.mean)]
        table.add_row(row.way, f"{row.lookups:,}", *figures, f"{row.latency_ms:.2f}", f"{row.direct_ms:.2f}")
    console.print(table)
    console.print("stretch: a lookup until the owner answers, over a round trip straight to it; latencies are medians")


def comparison_text(comparison: Comparison, console: Console) -> None:
    """Hop counts side by side, the lookups that differ, and the verdict."""
    console.print(
        f"{counted(comparison.members, 'member')} on {counted(comparison.processes, 'process', 'processes')}, "
        f"lists of {comparison.successors}"
    )
    for mode in comparison.modes:
        hops = sorted({*mode.real, *mode.simulated, *mode.by_tables})
        table = _table(f"{mode.mode}: {mode.lookups:,} lookups, hops", *map(str, hops), "mean")
        for name, counts in (("real", mode.real), ("simulated", mode.simulated), ("by the tables", mode.by_tables)):
            mean = sum(taken * count for taken, count in counts.items()) / max(1, sum(counts.values()))
            table.add_row(name, *(f"{counts.get(each, 0):,}" for each in hops), f"{mean:.3f}")
        console.print()
        console.print(table)
        console.print(
            f"same path in both: {mode.same_paths:,} of {mode.lookups:,}; other hops than by the tables: "
            f"{mode.other_hops:,}; asked again: {mode.asked_again}"
        )
        for difference in mode.differences[:NOTED_AT_MOST]:
            console.print(_told(difference), soft_wrap=True, highlight=False)
    console.print()
    if comparison.tables:
        console.print(f"{counted(len(comparison.tables), 'member')} with other pointers: {_first(comparison.tables)}")
    if comparison.changed:
        whose = counted(len(comparison.changed), "member")
        console.print(f"the real ring changed meanwhile: pointers of {whose}: {_first(comparison.changed)}")
    for fault in comparison.real_faults[:NOTED_AT_MOST]:
        console.print(f"real ring: {fault}", soft_wrap=True)
    console.print("the same ring, the same paths" if comparison.same else "NOT the same")


def _first(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > NOTED_AT_MOST else ""
    return ", ".join(names[:NOTED_AT_MOST]) + more


def _told(difference: Difference) -> str:
    real, simulated = (_way(each) for each in (difference.real, difference.simulated))
    hops = f"{counted(difference.by_tables, 'hop')} by the tables"
    return f"  {difference.name} (key {difference.key}): real {real}; simulated {simulated}; {hops}"


def _way(way: Way) -> str:
    timeouts = f" ({way.timeouts} time-outs)" if way.timeouts else ""
    return way.error or f"{' > '.join(map(str, way.path))} = {way.owner}{timeouts}"


def predictions_table(
    models: Sequence[Fitted], predictions: Sequence[Prediction], within: float, console: Console
) -> None:
    """The models, then each run that was predicted."""
    if models:
        table = _table("model", "mode", "a us", "b us a hop", "c a member", "lookups", "error of medians", text=2)
        for each in models:
            model = each.model
            figures = (f"{model.a_us:.0f}", f"{model.b_us:.0f}", f"{model.c:.4f}", f"{model.lookups:,}")
            table.add_row(each.source, model.mode, *figures, f"{model.error:.1%}")
        console.print(table)
        console.print("median = (a + b hops)(1 + c members)\n")
    if not predictions:
        return
    console.print(f"{'predicted run':25}{_figures_of(PREDICTED)}", style="bold")
    for one in predictions:
        same = one.hops_from if one.same_hops is None else f"{one.same_hops:,}"
        mode = one.mode if one.mode == one.model_of else f"{one.mode} from {one.model_of}"
        measured = (f"{one.members:,}", f"{one.lookups:,}", f"{one.measured_us:.0f}")
        shown = _figures_of((*measured, f"{one.predicted_us:.0f}", f"{one.error:+.1%}", same))
        console.print(one.run, soft_wrap=True, markup=False)  # a name of a line of its own can be copied
        console.print(f" {mode:24}{shown}", soft_wrap=True)
    good = sum(abs(one.error) <= within for one in predictions)
    console.print(f"{good} of {len(predictions)} predicted within {within:.0%}")


def _figures_of(columns: Sequence[str]) -> str:
    return "".join(f"{column:>{len(name) + 2}}" for column, name in zip(columns, PREDICTED, strict=True))


def left_out_text(predicted: Sequence[str], too_few: Sequence[str], console: Console) -> None:
    """Which runs no model is fitted on, a line for each reason."""
    if predicted:
        console.print(
            f"left out of the fit, as they are predicted: {', '.join(predicted)}", soft_wrap=True, markup=False
        )
    if too_few:
        what = f"left out {counted(len(too_few), 'run')} with no workload of {LEAST} lookups or more"
        console.print(f"{what}: {_first(too_few)}", soft_wrap=True, markup=False)
    if predicted or too_few:
        console.print()
