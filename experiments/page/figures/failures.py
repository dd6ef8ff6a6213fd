"""Lookups while nodes fail: how many fail with them, how long their paths grow, and how often they wait in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from experiments.page.chart import Axis, Figure, Panel, Series
from experiments.page.figures.paper_series import chosen, column, kinds, published, simulated, total
from experiments.page.figures.told import name_of, runs_of, together
from experiments.page.material import Material, Paper, Run

TO_BE_CHECKED = "(to be checked)"
KILLS = ("kill", "crash")
REFERENCE_LOOKUPS = 9_999
"""Of each share, in sim.paper.published."""

FRACTION = "nodes that failed at once (%)"


def failed_lookups(material: Material) -> Figure | None:
    """Right after the failure, and once the ring is mended; runs in which nodes were killed beside them."""
    failures, lost_keys = material.paper("failures"), material.paper("lost-keys")
    real = _killed(material)
    panels = []
    if failures or real:
        panels.append(
            _fractions(
                "Right after, before any repair",
                "lookups lost or wrong (%)",
                [*_right_after(failures), *_real(material, real)],
            )
        )
    if lost_keys:
        panels.append(_fractions("After stabilization", "keys not found (%)", list(_mended(lost_keys))))
    if not panels:
        return None
    counts = [f"{total(failures, 'lookups'):,} lookups"] if failures else []
    counts += [f"{total(lost_keys, 'keys'):,} keys"] if lost_keys else []
    killed = {run.name for run in real}
    counts += [f"{sum(row.count for row in material.lookups if row.run in killed):,} lookups of runs"] if real else []
    told = together(lost_keys, together(failures, runs_of(material, (run.name for run in real))))
    return Figure(
        name="failed-lookups",
        section="Failures",
        title="Failed lookups against the share of nodes that failed",
        what="A part of all nodes fails at once. Before repair, a lookup fails when no entry of a list is left to go "
        "on with, or when it names another owner than the first living node. After stabilization a key is gone when "
        "all that held a copy failed: with one copy as many keys as nodes (SIGCOMM 2001, figure 11), with three its "
        "cube.",
        finding=_finding(failures, lost_keys),
        panels=panels,
        counts=", ".join(counts),
        **told,
    )


def under_failures(material: Material) -> Figure | None:
    """Path length and time-outs right after nodes failed (ToN 2003, table II)."""
    paper = material.paper("failures")
    if paper is None:
        return None
    return Figure(
        name="under-failures",
        section="Failures",
        title="Path length and time-outs under failures",
        what="Lookups right after the failure, with nothing repaired: living nodes asked on the way, and dead ones "
        "waited for. Bars of time-outs are one standard deviation between rings. Published: ToN 2003, table II, from "
        "memory.",
        finding=_path_finding(paper),
        panels=[_under(paper, "path", "path length (hops)"), _under(paper, "time-outs", "time-outs (per lookup)")],
        counts=f"{total(paper, 'lookups'):,} lookups",
        **together(paper),
    )


def churn(material: Material) -> Figure | None:
    """The same while nodes come and go all the time (ToN 2003, table III)."""
    paper = material.paper("churn")
    if paper is None:
        return None
    panels = []
    for name, title in (("path", "path length (hops)"), ("time-outs", "time-outs (per lookup)")):
        series = []
        for colour, kind in enumerate(kinds(paper, "kind")):
            x = column(paper, "rate", kind=kind)
            counted = [f"{row['lookups']} lookups, {row['failed']} failed" for row in chosen(paper, kind=kind)]
            series.append(simulated(f"by {kind}", x, column(paper, name, kind=kind), colour, said=counted))
        points = column(paper, f"{name}, published {TO_BE_CHECKED}")
        series.append(published("ToN 2003, table III (published, from memory)", column(paper, "rate"), points))
        x_axis = Axis(title="joins and departures (each per second)", least=0)
        panels.append(Panel(title="", x=x_axis, y=Axis(title=title, least=0), series=series))
    failed, lookups = total(paper, "failed"), total(paper, "lookups")
    return Figure(
        name="churn",
        section="Failures",
        title="Lookups while nodes come and go",
        what="Nodes join and leave, or crash, at a rate, in a ring that goes on stabilizing; lookups are asked "
        "meanwhile.",
        finding=f"{failed:,} of {lookups:,} lookups failed at all rates together.",
        panels=panels,
        counts=f"{lookups:,} lookups",
        **together(paper),
    )


def _fractions(title: str, y: str, series: list[Series]) -> Panel:
    return Panel(
        title=title, x=Axis(title=FRACTION, share=True, least=0), y=Axis(title=y, share=True, least=0), series=series
    )


def _right_after(paper: Paper | None) -> list[Series]:
    if paper is None:
        return []
    found = []
    for colour, length in enumerate(kinds(paper, "list")):
        rows = chosen(paper, list=length)
        share = [(float(row["lost"]) + float(row["wrong"])) / float(row["lookups"]) for row in rows]
        said = [f"{row['lookups']} lookups" for row in rows]
        found.append(simulated(f"lists of {length}", column(paper, "failed", list=length), share, colour, said=said))
        reference = [
            value / REFERENCE_LOOKUPS if value is not None else None
            for value in column(paper, "reference lost or wrong", list=length)
        ]
        symbol = "x-thin-open" if colour == 0 else "cross-thin-open"
        found.append(
            published(
                f"reference simulator, lists of {length} (published)",
                column(paper, "failed", list=length),
                reference,
                symbol,
            )
        )
    return found


def _mended(paper: Paper) -> list[Series]:
    found = []
    for colour, copies in enumerate(kinds(paper, "replicas")):
        x = column(paper, "failed", replicas=copies)
        said = [f"{row['keys']} keys" for row in chosen(paper, replicas=copies)]
        name = f"{copies} {'copy' if copies == '1' else 'copies'} of a key"
        found.append(simulated(name, x, column(paper, "not found", replicas=copies), colour, said=said))
    points = column(paper, "published not found")
    return [
        *found,
        published("SIGCOMM 2001, figure 11: as many keys as nodes (published)", column(paper, "failed"), points),
    ]


def _killed(material: Material) -> list[Run]:
    """Runs in which a known share of the nodes was killed, and keys were looked up."""
    asked = {row.run for row in material.lookups if row.count}
    return [run for run in material.runs if run.ring_size and _kills(run) and run.name in asked]


def _kills(run: Run) -> int:
    return sum(fault.get("kind") in KILLS for fault in run.faults) or int(run.kill_us is not None)


def _real(material: Material, runs: Sequence[Run]) -> list[Series]:
    """A point a run: the share of its lookups that failed, by the share of its nodes that were killed."""
    found = []
    for colour, source in enumerate(sorted({run.source for run in runs}), 3):
        points = []
        for run in (run for run in runs if run.source == source):
            counts: Counter[bool] = Counter()
            for row in material.lookups:
                counts[row.outcome == "ok"] += row.count * (row.run == run.name)
            if whole := counts.total():
                points.append(
                    (_kills(run) / (run.ring_size or 1), counts[False] / whole, f"{run.name}: {whole:,} lookups")
                )
        points.sort()
        found.append(
            Series(
                name=name_of(source, "while nodes were killed and repair went on"),
                source=source,
                x=[point[0] for point in points],
                y=[point[1] for point in points],
                said=[point[2] for point in points],
                style="points",
                colour=colour,
                symbol="diamond",
            )
        )
    return found


def _under(paper: Paper, name: str, title: str) -> Panel:
    series = []
    for colour, length in enumerate(kinds(paper, "list")):
        x, y = column(paper, "failed", list=length), column(paper, name, list=length)
        ends = None
        if name == "time-outs":
            apart = column(paper, "sd of rings", list=length)
            ends = tuple([(at or 0) + sign * (sd or 0) for at, sd in zip(y, apart, strict=True)] for sign in (-1, 1))
        said = [f"{row['lookups']} lookups" for row in chosen(paper, list=length)]
        series.append(simulated(f"lists of {length}", x, y, colour, ends=ends, said=said))  # type: ignore[arg-type]
    x = column(paper, "failed")
    series.append(
        published("ToN 2003, table II, lists of 20 (published)", x, column(paper, f"published {name} {TO_BE_CHECKED}"))
    )
    series.append(
        published(
            "reference simulator, lists of 20 (published)", x, column(paper, f"reference {name}"), "cross-thin-open"
        )
    )
    return Panel(title="", x=Axis(title=FRACTION, share=True, least=0), y=Axis(title=title, least=0), series=series)


def _finding(failures: Paper | None, lost_keys: Paper | None) -> str:
    told = []
    if failures:
        worst = max(failures.rows, key=lambda row: float(row["failed"]))["failed"]
        shares = [
            f"{(float(row['lost']) + float(row['wrong'])) / float(row['lookups']):.0%} with lists of {row['list']}"
            for row in chosen(failures, failed=worst)
        ]
        told.append(f"With {float(worst):.0%} of the nodes gone, lookups failed: {', '.join(shares)}.")
    if lost_keys:
        worst = max(lost_keys.rows, key=lambda row: float(row["failed"]))["failed"]
        shares = [
            f"{float(row['not found']):.0%} with {row['replicas']} of each" for row in chosen(lost_keys, failed=worst)
        ]
        told.append(f"Once mended, keys were gone: {', '.join(shares)}.")
    return " ".join(told) or "Runs in which nodes were killed."


def _path_finding(paper: Paper) -> str:
    rows = chosen(paper, list=kinds(paper, "list")[0])
    first, last = rows[0], rows[-1]
    return (
        f"With lists of {first['list']}, from {float(first['failed']):.0%} to {float(last['failed']):.0%} of the nodes "
        "gone, "
        f"paths grow from {float(first['path']):.2f} to {float(last['path']):.2f} hops, "
        f"and time-outs from {float(first['time-outs']):.2f} to {float(last['time-outs']):.2f} a lookup."
    )
