"""Mininet as a place of sweeps: one cell, in namespaces of its own, which the kernel ends with this process.

The hosts of a run are network namespaces, its switches bridges in one more, and its processes live in a namespace of
process ids whose first member the kernel kills when its parent ends. So nothing of it outlives this process, whether
that ends by itself, by Ctrl-C, or by kill -9; and two runs side by side do not meet.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from broker.processes import ProcessFailed, end, start_program
from chord.errors import LocalProtocolError
from experiments.capture.matching import WIRE, match, write
from experiments.mininet import census
from experiments.mininet.course import check_cell
from experiments.mininet.inside import Ended, Task
from experiments.mininet.requirements import check_machine
from experiments.mininet.shaping import Shape, check_kernel
from experiments.sweep.cells import Cell, Told
from experiments.traces.run import RunInfo

UNSHARE = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")

TEMPORARY = "temporary"
"""An empty folder of the run, over which its processes see one in memory."""

Say = Callable[[str, int, int], None]


def run(cell: Cell, directory: Path, told: Told) -> RunInfo:
    """Play a cell and leave its traces in `directory`. Raises RingcastError with the reason when it fails."""
    return play(cell, directory, lambda what, done, total: told(done, total) if what == "work" else None)


def play(cell: Cell, directory: Path, say: Say, loss_percent: float | None = None) -> RunInfo:
    """The same; `say` hears what is going on. What is counted before, during and after it is in the RunInfo."""
    shape = check(cell, loss_percent)
    mark = f"{os.getpid()}-{time.time_ns():x}"
    before = census.take()
    try:
        info = _played(Task(cell, shape), directory, mark, say)
    finally:
        left = census.wait_gone(mark)
    if left:
        raise ProcessFailed(
            f"{left} processes of the run are left, which have {census.MARK}={mark} in their environment"
        )
    after = census.take()
    own = info.extra.pop("counted", None)
    if cell.capture:
        write(match(directory, info), directory / WIRE)
    info.extra["census"] = {"before": before, "own": own, "after": after, "own_after": census.take(mark)}
    return info


def check(cell: Cell, loss_percent: float | None = None) -> Shape:
    """What its links are like. Raises LocalProtocolError for a cell that cannot be played, here or at all."""
    check_machine(cell.capture)
    shape = Shape(cell.bw_mbit, cell.delay_ms, loss_percent)
    check_cell(cell, shape)
    check_kernel(shape)
    return shape


def _played(task: Task, directory: Path, mark: str, say: Say) -> RunInfo:
    folder = (directory / TEMPORARY).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile() as errors:
        environment = ["env", f"{census.MARK}={mark}", f"TMPDIR={folder}"]
        command = [*UNSHARE, *environment, sys.executable, "-m", "experiments.mininet.inside", str(directory)]
        process = start_program(command, subprocess.PIPE, errors.fileno(), subprocess.PIPE)
        try:
            assert process.stdin is not None
            process.stdin.write(msgspec.json.encode(task) + b"\n")
            ended = _heard(process, say)
        finally:
            end(process)
            shutil.rmtree(folder, ignore_errors=True)
        if ended is None:
            raise ProcessFailed(f"the run ended without a word: {_last_line(errors)}")
    if ended.error is not None:
        raise LocalProtocolError(ended.error) if ended.usage else ProcessFailed(ended.error)
    assert ended.info is not None
    return ended.info


def _heard(process: subprocess.Popen[bytes], say: Say) -> Ended | None:
    for line in _lines(process):
        if line.startswith(b"["):
            what, done, total = msgspec.json.decode(line, type=tuple[str, int, int])
            say(what, done, total)
        else:
            return msgspec.json.decode(line, type=Ended)
    return None


def _lines(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    assert process.stdout is not None
    rest = b""
    while chunk := process.stdout.read(1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
