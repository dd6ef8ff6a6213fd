"""Measuring the cells of figures: side by side, and each only once, however often the command is stopped."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from sim.commit import names_the_code
from sim.paper.figure import Figure, Measured, Parameters, Result
from sim.paper.traced import Traced
from sim.parallel import results

RESULT = "result.json"


class Kept(msgspec.Struct, kw_only=True):
    """A cell on disk: what was measured, by which commit, and what came of it."""

    parameters: dict[str, Any]
    commit: str
    result: dict[str, Any]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell that is to be measured. `run` is what its traces are called, beside those of all other cells."""

    parameters: Parameters
    commit: str
    run: str
    folder: Path


def measured(
    figure: Figure, folder: Path, quick: bool, jobs: int, commit: str, advance: Callable[[], None]
) -> list[Measured]:
    """Every cell of a figure, in its order. What `folder` keeps of this commit is taken from there, if that names the
    code of now: files may have been edited since.

    Each has a folder of its own, with its result and the traces of its first lookups. `advance` is called once for
    each cell. Raises OSError when a result cannot be kept, BrokenProcessPool when one of the processes is killed.
    """
    name = f"{figure.name}-quick" if quick else figure.name
    cells = [
        Cell(parameters=parameters, commit=commit, run=f"{name}-{number}", folder=folder / name_of(parameters))
        for number, parameters in enumerate(figure.cells(quick))
    ]
    found = [_kept(cell) for cell in cells]
    for result in found:
        if result is not None:
            advance()
    left = [at for at, result in enumerate(found) if result is None]
    work = results(partial(_measure, figure.measure), [cells[at] for at in left], min(jobs, len(left) or 1))
    for at, result in zip(left, work, strict=True):
        found[at] = result
        advance()
    return [Measured(cell.parameters, result) for cell, result in zip(cells, found, strict=True) if result is not None]


def name_of(parameters: Parameters) -> str:
    """What tells a cell from the others of its figure, as the name of its folder."""
    return ",".join(f"{name}={value}" for name, value in parameters.items()).replace("/", "-")


def _kept(cell: Cell) -> Result | None:
    """The result of a cell that was measured before, by the code of now."""
    if not names_the_code(cell.commit):
        return None
    try:
        kept = msgspec.json.decode((cell.folder / RESULT).read_bytes(), type=Kept)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return kept.result if kept.parameters == cell.parameters and kept.commit == cell.commit else None


def _measure(measure: Callable[[Parameters, Traced], Result], cell: Cell) -> Result:
    """Measure a cell, on whichever process, and write result and traces, whole or not at all."""
    traced = Traced(cell.run)
    result = measure(cell.parameters, traced)
    part = cell.folder.with_name(f"{cell.folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    kept = Kept(parameters=dict(cell.parameters), commit=cell.commit, result=result)
    (part / RESULT).write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
    traced.save(part, cell.run, cell.commit, cell.parameters)
    shutil.rmtree(cell.folder, ignore_errors=True)
    part.rename(cell.folder)
    return result
