"""What happened by the second in runs with faults, and how long it took to go on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from experiments.page.chart import Axis, Figure, Mark, Panel, Series
from experiments.page.figures.told import by_source, in_turn, name_of, runs_of, time, titled
from experiments.page.material import Material, Run
from experiments.page.rows import Failover, Second

MOST_RUNS = 3
MOST_BARS = 24
"""Of each source."""

LEAST_SECONDS = 3
DECADES = 7


def time_line(material: Material) -> Figure | None:
    """Deliveries and lookups a second in runs with faults, which are marked; without any, in the only run."""
    faulty = [run for run in material.runs if run.kills_s()]
    chosen = by_source(faulty or (material.runs if len(material.runs) == 1 else []), lambda run: run.source)
    found = {
        run.name: _panel(run, [row for row in material.timeline if row.run == run.name])
        for run in in_turn(chosen, MOST_RUNS)
    }
    panels = {name: panel for name, panel in found.items() if panel is not None}
    if not panels:
        return None
    counts = sum(row.count for row in material.timeline if row.run in panels)
    after = [row for row in material.failover if row.run in panels and row.kind.startswith("delivery ")]
    waits = [f"{row.kind} {time(row.ms * 1e3)}" for row in after]
    return Figure(
        name="time-line",
        section="Time lines",
        title="What happened by the second",
        what="Counted by the second from the start of the run; the axis is logarithmic, so that single failures show. "
        "Upright lines are faults.",
        finding=f"From the fault until samples published after it came: {', '.join(waits)}."
        if waits
        else "No wait for samples was measured in these runs.",
        panels=list(panels.values()),
        counts=f"{counts:,} rows",
        **runs_of(material, panels),
    )


def failover(material: Material) -> Figure | None:
    """The wait after each fault, a bar a kind of what went on."""
    ordered = sorted(material.failover, key=lambda row: (row.run, row.fault, row.ms))
    apart = by_source(ordered, lambda row: material.run(row.run).source)
    shown = {source: own[:MOST_BARS] for source, own in apart.items()}
    rows = [row for own in shown.values() for row in own]
    if not rows:
        return None
    longest = max(rows, key=lambda row: row.ms)
    return Figure(
        name="failover",
        section="Time lines",
        title="How long things took to go on after a fault",
        what="From the fault until the first of its kind after it, or until the last lookup that failed. Of deliveries "
        "through a primary that was killed: until the last subscriber had a sample that was published after the kill.",
        finding=f"The longest: {time(longest.ms * 1e3)}, {longest.kind} after {longest.fault}.",
        panels=[_waits(source, own) for source, own in shown.items()],
        counts=f"{len(rows)} waits",
        **runs_of(material, (row.run for row in rows)),
    )


def _waits(source: str, rows: Sequence[Failover]) -> Panel:
    bars = Series(
        name=name_of(source, "wait"),
        source=source,
        x=[row.ms for row in rows],
        y=list(range(1, len(rows) + 1)),
        said=[f"{row.run}: {row.kind} after {row.fault} {row.target}, {row.count:,} counted" for row in rows],
        style="bars",
    )
    names = [(float(place), f"{row.kind} ({row.fault})") for place, row in enumerate(rows, 1)]
    return Panel(
        title=titled(source, "Waits"),
        x=Axis(title="time since the fault (ms)", least=0),
        y=Axis(title="what went on (and the fault before it)", ticks=names),
        series=[bars],
        flat=True,
    )


def _panel(run: Run, rows: Sequence[Second]) -> Panel | None:
    if len({row.second for row in rows}) < LEAST_SECONDS:
        return None
    counts: dict[str, dict[int, int]] = defaultdict(dict)
    for row in rows:
        counts[row.kind][row.second] = counts[row.kind].get(row.second, 0) + row.count
    series = []
    for colour, (kind, own) in enumerate(sorted(counts.items(), key=lambda pair: -sum(pair[1].values()))):
        seconds = range(min(own), max(own) + 1)
        dense = len(own) > len(seconds) / 2
        places = list(seconds) if dense else sorted(own)
        series.append(
            Series(
                name=name_of(run.source, f"{kind}: {sum(own.values()):,}"),
                source=run.source,
                x=places,
                y=[own.get(at) for at in places],
                style="line" if dense else "points",
                colour=colour,
                symbol=("diamond", "square", "triangle-up", "circle")[colour % 4],
                dash=("solid", "dash", "dot")[colour % 3],
            )
        )
    ticks = [(10.0**power, f"{10**power:,}") for power in range(DECADES)]
    most = max(max(own.values()) for own in counts.values())
    return Panel(
        title=titled(run.source, run.name),
        x=Axis(title="time since the start of the run (s)"),
        y=Axis(title="count (per second, logarithmic)", scale="log", ticks=ticks, least=0.7, most=2.0 * most),
        series=series,
        marks=[
            Mark(at=at, text=f"{text} at {at:.1f} s")
            for text, at in sorted(run.kills_s().items(), key=lambda pair: pair[1])
        ],
    )
