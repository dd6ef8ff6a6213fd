"""The course of a report: what was measured is read, drawn as PNG and CSV, and put on one page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from chord.amounts import counted
from chord.errors import LocalProtocolError
from experiments.folders import made, once
from experiments.page import cards, html_page, png, tables
from experiments.page.chart import Figure
from experiments.page.comparing import Difference
from experiments.page.comparison import SECTION, comparison
from experiments.page.figures import SECTIONS, figures
from experiments.page.figures.messages import losses
from experiments.page.html_page import Page, Section
from experiments.page.machines import machines
from experiments.page.material import Material
from experiments.page.runs_table import runs_table
from experiments.page.source import place_of, read

PAGE, FIGURES = "report.html", "figures"
Progress = Callable[[str, int, int], None]


class Made(msgspec.Struct, kw_only=True):
    """What a report left, and what it found: the content of `--json`. `machines` are as run.json has them."""

    page: str
    figures: list[str]
    runs: list[str]
    sources: list[str]
    summary: dict[str, str]
    machines: list[dict[str, Any]]
    differences: list[dict[str, Any]]


def make(asked: Sequence[Path], out: Path, against: Path | None, progress: Progress) -> Made:
    """Write the page and the files beside it. Raises BadRun, and LocalProtocolError for an `out` that is a file and
    for a run that is given twice.
    """
    once(asked, place_of)
    if against is not None and place_of(against) in map(place_of, asked):
        raise LocalProtocolError(f"--against {against} is on the page itself; give another run to compare with")
    material = read(asked)
    found = figures(material)
    sections = _sections(material, found)
    differences: list[Difference] = []
    if against is not None:
        lead, figure, table, differences = comparison(material, read([against]))
        drawn, shown = [figure] if figure else [], [table] if table else []
        sections.insert(0, Section("comparison", SECTION, drawn, shown, lead))
        found = [*drawn, *found]
    made(out)
    strip = cards.cards(material)
    page = Page(
        title=", ".join(path.resolve().name for path in asked),
        lead=_lead(material, found),
        sources=cards.sources(material),
        cards=strip,
        sections=sections,
        footer=_footer(),
    )
    _files(found, out / FIGURES, progress)
    fresh = out / f"{PAGE}.new"
    fresh.write_text(html_page.render(page), encoding="utf-8")
    fresh.replace(out / PAGE)
    return Made(
        page=str(out / PAGE),
        figures=[figure.name for figure in found],
        runs=[run.name for run in material.runs],
        sources=list(page.sources),
        summary={card.name: card.value for card in strip},
        machines=machines(run.machine for run in material.runs),
        differences=[{**asdict(each), "shown": each.shown, "matters": each.matters} for each in differences],
    )


def _files(found: Sequence[Figure], folder: Path, progress: Progress) -> None:
    """A PNG and a CSV each. Those of an earlier report go."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for place, figure in enumerate(found):
        progress("drawing figures", place, len(found))
        png.write(figure, folder / f"{figure.name}.png")
        (folder / f"{figure.name}.csv").write_text(tables.as_csv(figure), encoding="utf-8")


def _sections(material: Material, found: Sequence[Figure]) -> list[Section]:
    """Those that have something; the runs come last, with what could not be read of them."""
    sections = []
    for title in SECTIONS:
        own = [figure for figure in found if figure.section == title]
        shown = [table] if title == "Messages" and (table := losses(material)) else []
        if own or shown:
            sections.append(Section(title.lower().replace(" ", "-"), title, own, shown))
    damage = f"Damage: {'; '.join(material.damage)}." if material.damage else "Every trace file was read whole."
    return [*sections, Section("runs", "Runs", (), runs_table(material), damage if material.runs else "")]


def _lead(material: Material, found: Sequence[Figure]) -> str:
    parts = [counted(len(found), "figure")]
    if material.runs:
        parts.append(f"of {counted(len(material.runs), 'run')}")
    if material.papers:
        joined = "and" if material.runs else "of"
        parts.append(f"{joined} {counted(len(material.papers), 'figure')} of the Chord papers, run anew")
    return " ".join(parts)


def _footer() -> str:
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    beside = f"PNG and CSV files of the figures lie in {FIGURES}/ beside this page."
    return f"Made by python -m experiments report on {made}. {beside}"
