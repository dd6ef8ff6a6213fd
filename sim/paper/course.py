"""Measuring the cells of figures: side by side, and each only once, however often the command is stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from sim.paper.figure import Figure, Measured, Parameters, Result
from sim.parallel import results


class Kept(msgspec.Struct, kw_only=True):
    """A cell on disk: what was measured, by which commit, and what came of it."""

    parameters: dict[str, Any]
    commit: str
    result: dict[str, Any]


def measured(
    figure: Figure, folder: Path, quick: bool, jobs: int, commit: str, advance: Callable[[], None]
) -> list[Measured]:
    """Every cell of a figure, in its order. What `folder` keeps of this commit is taken from there.

    `advance` is called once for each cell. Raises OSError when a result cannot be kept, BrokenProcessPool when one of
    the processes is killed.
    """
    cells = figure.cells(quick)
    found = [_kept(_path(folder, cell), cell, commit) for cell in cells]
    for result in found:
        if result is not None:
            advance()
    left = [at for at, result in enumerate(found) if result is None]
    work = results(figure.measure, [cells[at] for at in left], min(jobs, len(left) or 1))
    for at, result in zip(left, work, strict=True):
        _keep(_path(folder, cells[at]), Kept(parameters=dict(cells[at]), commit=commit, result=result))
        found[at] = result
        advance()
    return [Measured(cell, result) for cell, result in zip(cells, found, strict=True) if result is not None]


def name_of(cell: Parameters) -> str:
    """What tells a cell from the others of its figure, as part of a file name."""
    return ",".join(f"{name}={value}" for name, value in cell.items()).replace("/", "-")


def _path(folder: Path, cell: Parameters) -> Path:
    return folder / f"{name_of(cell)}.json"


def _kept(path: Path, cell: Parameters, commit: str) -> Result | None:
    """The result of a cell that was measured before, by the code of now."""
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=Kept)
    except (OSError, msgspec.DecodeError):
        return None
    return kept.result if kept.parameters == cell and kept.commit == commit else None


def _keep(path: Path, kept: Kept) -> None:
    """Write a result, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
    part.replace(path)
