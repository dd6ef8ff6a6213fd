"""What `python -m sim paper` leaves: a CSV a figure, and its cells, which say seeds and commit."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import msgspec

from experiments.page.material import Paper
from experiments.traces.run import BadRun
from sim.cli_paper import NAMES

CELLS = {"cells": False, "cells-quick": True}
"""Folders of what was measured, and whether that is the small form."""

RESULT = "result.json"


def papers(directory: Path) -> list[Paper]:
    """Every figure that is told in this directory, in their order. Raises BadRun for cells that cannot be read."""
    found = []
    for name in NAMES:
        path = directory / f"{name}.csv"
        if path.is_file() and (paper := _paper(directory, name, path)).rows:
            found.append(paper)
    return found


def _paper(directory: Path, name: str, path: Path) -> Paper:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    folder = next((folder for folder in CELLS if (directory / folder / name).is_dir()), None)
    cells = [_cell(each) for each in sorted((directory / folder / name).glob(f"*/{RESULT}"))] if folder else []
    commits = sorted({str(cell.get("commit")) for cell in cells})
    return Paper(
        name=name,
        of=directory.resolve().name,
        rows=rows,
        seeds=sorted({int(cell["parameters"]["seed"]) for cell in cells}),
        commit=", ".join(commit[:12] for commit in commits) or "unknown",
        written_us=int(path.stat().st_mtime * 1e6),
        quick=bool(folder and CELLS[folder]),
    )


def _cell(path: Path) -> dict[str, Any]:
    try:
        cell: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise BadRun(f"{path} cannot be read ({error}); run `python -m sim paper` again") from None
    return cell
