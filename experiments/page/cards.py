"""The strip at the head of the page: what was run, where, when, how much of it, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from chord.amounts import counted
from experiments.analysis.summary import SOURCE_NAMES
from experiments.page.machines import hardware, machines, versions
from experiments.page.material import Material, when

OK = "ok"


@dataclass(frozen=True)
class Card:
    """One figure of the strip, and what it is of. `state` good and bad are told by a sign and a colour.

    `folded` are names and values that stand below it once a reader opens them, under `said`.
    """

    name: str
    value: str
    said: str
    state: Literal["", "text", "good", "bad"] = ""
    folded: Sequence[tuple[str, str]] = ()


def cards(material: Material) -> list[Card]:
    """All of them. What nothing tells is told as such, and is never taken for nought."""
    found = [_what(material), _machine(material), _when(material), _rows(material)]
    return [*found, _failed(material), _lost(material), _wrong(material)]


def sources(material: Material) -> list[str]:
    """Where all of it comes from, for the badges."""
    found = {run.source for run in material.runs} | ({"sim"} if material.papers else set())
    return [source for source in SOURCE_NAMES if source in found]


def _what(material: Material) -> Card:
    parts = []
    for source in SOURCE_NAMES:
        if number := sum(run.source == source for run in material.runs):
            parts.append(f"{counted(number, 'run')} {SOURCE_NAMES[source]}")
    if material.papers:
        parts.append(f"{counted(len(material.papers), 'figure')} of the papers, simulated")
    sizes = sorted({run.ring_size for run in material.runs if run.ring_size})
    said = f"rings of {sizes[0]:,} to {sizes[-1]:,} nodes" if sizes else "published figures, run anew"
    return Card("What was run", "; ".join(parts) or "nothing", said, "text")


def _machine(material: Material) -> Card:
    found = machines(run.machine for run in material.runs)
    if not found:
        return Card("Machine", "not recorded", "run.json names none", "text")
    named = list(dict.fromkeys(map(hardware, found)))
    value = named[0] if len(named) == 1 else f"{named[0]}, and {counted(len(named) - 1, 'other')}"
    folded = [("another", name) for name in named[1:]] + versions(found)
    return Card("Machine", value, _folds(named, folded), "text", folded)


def _folds(named: Sequence[str], folded: Sequence[object]) -> str:
    if not folded:
        return "of the runs"
    return "versions" if len(named) == 1 else "others, and versions"


def _when(material: Material) -> Card:
    times = sorted([run.started_us for run in material.runs if run.started_us] or [0])
    if not times[-1]:
        times = sorted([paper.written_us for paper in material.papers] or [0])
    commits = {run.commit[:12] for run in material.runs} | {paper.commit for paper in material.papers}
    first, last = when(times[0]), when(times[-1])
    value = first if first == last else f"{first} to {last[11:] if first[:10] == last[:10] else last}"
    return Card("When", value, f"commit {', '.join(sorted(commits)[:3])}", "text")


def _rows(material: Material) -> Card:
    rows = {name: count for name, count in material.rows.items() if count}
    if not rows:
        return Card("Trace rows", "none", "counts of the papers' figures are with them")
    parts = sorted(rows.items(), key=lambda pair: -pair[1])
    return Card("Trace rows", f"{sum(rows.values()):,}", ", ".join(f"{count:,} {name}" for name, count in parts))


def _failed(material: Material) -> Card:
    total = sum(row.count for row in material.lookups)
    failed = sum(row.count for row in material.lookups if row.outcome != OK)
    if not total:
        return Card("Failed lookups", "–", "no lookups in these runs")
    return Card("Failed lookups", f"{failed:,}", f"of {total:,}", "bad" if failed else "good")


def _lost(material: Material) -> Card:
    told = [row for row in material.flows if row.lost is not None]
    if not told:
        return Card(
            "Lost samples", "–", "nothing tells what was sent" if material.flows else "no samples in these runs"
        )
    lost, sent = sum(row.lost or 0 for row in told), sum(row.published or 0 for row in told)
    return Card("Lost samples", f"{lost:,}", f"of {sent:,} sent, by subscriber", "bad" if lost else "good")


def _wrong(material: Material) -> Card:
    """Held against the members' identifiers by the run itself, or lookups for one key against each other."""
    checked, compared = (sum(getattr(row, name) for row in material.consistency) for name in ("checked", "lookups"))
    wrong = sum(row.wrong + row.lookups_conflicting for row in material.consistency)
    said = [f"of {checked:,} checked by identifier"] if checked else []
    said += [f"of {compared:,} compared by key"] if compared else []
    if not said:
        return Card("Wrong owners", "–", "not checked in these runs")
    return Card("Wrong owners", f"{wrong:,}", ", ".join(said), "bad" if wrong else "good")
