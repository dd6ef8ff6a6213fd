"""What happened by the second in runs with faults, and how long it took to go on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from experiments.page.chart import Axis, Figure, Mark, Panel, Series
from experiments.page.figures.told import name_of, runs_of, time
from experiments.page.material import Material, Run
from experiments.page.rows import Second

MOST_RUNS = 3
MOST_BARS = 24
LEAST_SECONDS = 3
DECADES = 7


def time_line(material: Material) -> Figure | None:
    """Deliveries and lookups a second in runs with faults, which are marked; without any, in the only run."""
    faulty = [run for run in material.runs if run.kills_s()]
    runs = (faulty or (material.runs if len(material.runs) == 1 else []))[:MOST_RUNS]
    panels = [
        panel for run in runs if (panel := _panel(run, [row for row in material.timeline if row.run == run.name]))
    ]
    if not panels:
        return None
    counts = sum(row.count for row in material.timeline if row.run in {run.name for run in runs})
    waits = [f"{row.kind} {time(row.ms * 1e3)}" for row in material.failover if row.kind.startswith("delivery ")]
    return Figure(
        name="time-line",
        section="Time lines",
        title="What happened by the second",
        what="Counted by the second from the start of the run; the axis is logarithmic, so that single failures show. "
        "Upright lines are faults.",
        finding=f"From the fault until samples published after it came: {', '.join(waits)}."
        if waits
        else "No wait for samples was measured in these runs.",
        panels=panels,
        counts=f"{counts:,} rows",
        **runs_of(material, (run.name for run in runs)),
    )


def failover(material: Material) -> Figure | None:
    """The wait after each fault, a bar a kind of what went on."""
    rows = sorted(material.failover, key=lambda row: (row.run, row.fault, row.ms))[:MOST_BARS]
    if not rows:
        return None
    sources = list(dict.fromkeys(material.run(row.run).source for row in rows))
    series = []
    for colour, source in enumerate(sources):
        own = [(place, row) for place, row in enumerate(rows, 1) if material.run(row.run).source == source]
        series.append(
            Series(
                name=name_of(source, "wait"),
                source=source,
                x=[row.ms for _, row in own],
                y=[place for place, _ in own],
                said=[f"{row.run}: {row.kind} after {row.fault} {row.target}, {row.count:,} counted" for _, row in own],
                style="bars",
                colour=colour,
            )
        )
    names = [(float(place), f"{row.kind} ({row.fault})") for place, row in enumerate(rows, 1)]
    longest = max(rows, key=lambda row: row.ms)
    return Figure(
        name="failover",
        section="Time lines",
        title="How long things took to go on after a fault",
        what="From the fault until the first of its kind after it, or until the last lookup that failed. Of deliveries "
        "through a primary that was killed: until the last subscriber had a sample that was published after the kill.",
        finding=f"The longest: {time(longest.ms * 1e3)}, {longest.kind} after {longest.fault}.",
        panels=[
            Panel(
                title="",
                x=Axis(title="time since the fault (ms)", least=0),
                y=Axis(title="what went on (and the fault before it)", ticks=names),
                series=series,
                flat=True,
            )
        ],
        counts=f"{len(rows)} waits",
        **runs_of(material, (row.run for row in rows)),
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
        title=run.name,
        x=Axis(title="time since the start of the run (s)"),
        y=Axis(title="count (per second, logarithmic)", scale="log", ticks=ticks, least=0.7, most=2.0 * most),
        series=series,
        marks=[
            Mark(at=at, text=f"{text} at {at:.1f} s")
            for text, at in sorted(run.kills_s().items(), key=lambda pair: pair[1])
        ],
    )
