"""The directory of a sweep: sweep.json, and a folder for each cell, finished, half-written, failed or not yet begun."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from chord.errors import LocalProtocolError
from experiments.locked import is_taken, locked
from experiments.sweep.cells import Cell
from experiments.sweep.machine import machine, versions
from experiments.traces.run import RUN_FILE, RunInfo, load
from sim.commit import checked_out

SWEEP_FILE = "sweep.json"
FAILED_FILE = "failed.txt"
SPEC = "spec"
"""The key of run.json under which the cell stands in full."""

State = Literal["waiting", "done", "failed"]


class CellState(msgspec.Struct, kw_only=True):
    """How far a cell is; `reason` is why it failed, `elapsed_s` how long it took."""

    name: str
    state: State = "waiting"
    reason: str | None = None
    elapsed_s: float | None = None


class SweepInfo(msgspec.Struct, kw_only=True):
    """The content of sweep.json."""

    plan: str
    title: str
    text: str
    overrides: dict[str, Any]
    theirs: list[str]
    commit: str
    machine: dict[str, Any]
    versions: dict[str, str]
    started_us: int
    cells: list[CellState]


def describe(plan: str, title: str, text: str, overrides: dict[str, Any], theirs: list[str]) -> SweepInfo:
    """What is known of a sweep that begins now, on this machine."""
    return SweepInfo(
        plan=plan,
        title=title,
        text=text,
        overrides=overrides,
        theirs=theirs,
        commit=checked_out(),
        machine=machine(),
        versions=versions(),
        started_us=time.time_ns() // 1000,
        cells=[],
    )


class SweepDirectory:
    """The directory while one sweep works in it; made by `opened`."""

    def __init__(self, path: Path, info: SweepInfo, cells: Sequence[Cell]) -> None:
        self.path = path
        self.info = info
        self._states = {cell.name: CellState(name=cell.name) for cell in cells}
        info.cells = list(self._states.values())
        self.waiting = [cell for cell in cells if not self._is_done(cell)]

    def begin(self, cell: Cell) -> Path:
        """The folder of a cell, empty: what a sweep that was stopped left there is removed."""
        folder = self.path / cell.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def finish(self, cell: Cell, run: RunInfo, elapsed_s: float) -> None:
        """Note in run.json what the cell was and that it is finished, and in sweep.json that it is done."""
        run.plan, run.cell = self.info.plan, cell.name
        run.machine = {**self.info.machine, "versions": self.info.versions}
        run.extra[SPEC] = _spec(cell)
        run.extra["elapsed_s"] = round(elapsed_s, 3)
        run.finished_us = time.time_ns() // 1000
        run.save(self.path / cell.name)
        self._note(cell, "done", None, elapsed_s)

    def fail(self, cell: Cell, reason: str, elapsed_s: float) -> None:
        """Leave the reason beside whatever the cell left."""
        (self.path / cell.name / FAILED_FILE).write_text(reason + "\n", encoding="utf-8")
        self._note(cell, "failed", reason.splitlines()[0], elapsed_s)

    def save(self) -> None:
        """Write sweep.json, whole or not at all."""
        written = self.path / f"{SWEEP_FILE}.new"
        written.write_bytes(msgspec.json.format(msgspec.json.encode(self.info), indent=2) + b"\n")
        written.replace(self.path / SWEEP_FILE)

    def _note(self, cell: Cell, state: State, reason: str | None, elapsed_s: float) -> None:
        noted = self._states[cell.name]
        noted.state, noted.reason, noted.elapsed_s = state, reason, round(elapsed_s, 3)
        self.save()

    def _is_done(self, cell: Cell) -> bool:
        """Whether an earlier sweep has finished this cell. Raises LocalProtocolError when that was another one."""
        path = self.path / cell.name / RUN_FILE
        if not path.exists():
            return False
        run = load(path)
        if run.finished_us is None:
            return False
        seen, now = run.extra.get(SPEC), _spec(cell)
        before = seen if isinstance(seen, dict) else {}
        key = next((key for key in now if before.get(key) != now[key]), None)  # a key of a later version may be missing
        if key is not None:
            was = before.get(key)
            raise LocalProtocolError(
                f"{path.parent} is finished with {key} {was!r}, not {now[key]!r}; name another directory with --out"
            )
        state = self._states[cell.name]
        state.state, state.elapsed_s = "done", run.extra.get("elapsed_s")
        return True


@contextmanager
def opened(path: Path, info: SweepInfo, cells: Sequence[Cell]) -> Iterator[SweepDirectory]:
    """Work in a directory that is new, empty, or that of a sweep: nobody else does meanwhile.

    What an earlier sweep finished there stays. Raises LocalProtocolError for a directory that is none of these, for one
    in which another sweep is at work, and when a cell of the same name is finished and was another one.
    """
    if not (path / SWEEP_FILE).exists() and is_taken(path):
        raise LocalProtocolError(f"{path} is not empty and not the directory of a sweep; name a new one with --out")
    with locked(path, "sweep"):
        directory = SweepDirectory(path, info, cells)
        directory.save()
        yield directory


def _spec(cell: Cell) -> dict[str, Any]:
    """A cell as JSON has it."""
    return msgspec.json.decode(msgspec.json.encode(cell), type=dict[str, Any])
