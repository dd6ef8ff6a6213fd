"""From the directories that a report is asked for to its material: what was analysed, and what `sim paper` left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from experiments.page import gold_source, paper_source, summary_source
from experiments.page.material import Material
from experiments.report.files import SUMMARY_FILE
from experiments.traces.run import BadRun

ANALYSIS = "analysis"


def read(asked: Sequence[Path]) -> Material:
    """Everything there is below each of these directories. Raises BadRun for one that holds nothing to report."""
    material = Material()
    for directory in asked:
        _add(material, _read(directory), directory.resolve().name)
        material.asked.append(directory)
    return material


def place_of(directory: Path) -> Path:
    """What is read of a directory that is asked for, by its full name: its analysis, or itself."""
    return (_analysis(directory) or directory).resolve()


def _read(directory: Path) -> Material:
    if not directory.is_dir():
        raise BadRun(f"{directory} is {'not a directory' if directory.exists() else 'missing'}; give a run's directory")
    found = Material(papers=paper_source.papers(directory))
    place = _analysis(directory)
    if place is not None:
        summary_source.add(found, place)
        gold_source.add(found, place)
    elif not found.papers:
        raise BadRun(
            f"{directory} holds no analysis and no figures of `python -m sim paper`; "
            f"run `python -m experiments analyse {directory}` first"
        )
    return found


def _analysis(directory: Path) -> Path | None:
    for place in (directory, directory / ANALYSIS):
        if (place / SUMMARY_FILE).exists() or gold_source.holds(place):
            return place
    return None


def _add(material: Material, more: Material, of: str) -> None:
    """Take in what one directory held; runs that have the name of others get that of their directory before it."""
    taken = {run.name for run in material.runs}
    names = {run.name: f"{of}/{run.name}" if run.name in taken else run.name for run in more.runs}
    material.runs += [replace(run, name=names[run.name], of=of) for run in more.runs]
    material.papers += more.papers
    material.damage += more.damage
    for table, count in more.rows.items():
        material.rows[table] = material.rows.get(table, 0) + count
    for table in gold_source.TABLES:
        for row in getattr(more, table):
            getattr(material, table).append(msgspec.structs.replace(row, run=names.get(row.run, row.run)))
