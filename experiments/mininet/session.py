"""A run of the command: its cells one after the other, each in a folder of the run directory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from chord.errors import LocalProtocolError
from experiments.capture.matching import WIRE, WireRow, read
from experiments.folders import LOCK_FILE, alone, made
from experiments.mininet.census import Census
from experiments.mininet.place import check, play
from experiments.mininet.results import Result, count
from experiments.sweep.cells import Cell

PICTURE = "wire.png"


class Session(msgspec.Struct, kw_only=True):
    """What a run came to. `before` and `after` count the whole machine, `own` what was there while the work went on."""

    out: str
    topology: str
    hosts: int
    cells: list[Result]
    before: Census
    own: list[Census]
    after: Census
    left: Census
    """What is left of this run."""

    picture: str | None = None


def run(
    cells: Sequence[Cell], out: Path | None, loss_percent: float | None, progress: Callable[[str, int, int], None]
) -> Session:
    """Play them in `out`, or in a new folder of runs/. Raises RingcastError; what was done by then stays."""
    for cell in cells:
        check(cell, loss_percent)
    directory = made(out or _new_directory())
    if not (directory / LOCK_FILE).exists():
        _refuse_taken(directory)  # before a lock is left in what is none of our business
    with alone(directory, "Mininet run", "wait for it, or name another directory with --out"):
        _refuse_taken(directory)  # by a run that has ended since
        return _played(cells, directory, loss_percent, progress)


def _refuse_taken(directory: Path) -> None:
    if any(each.name != LOCK_FILE for each in directory.iterdir()):
        raise LocalProtocolError(f"{directory} is not empty; name a new one with --out")


def _played(
    cells: Sequence[Cell], out: Path, loss_percent: float | None, progress: Callable[[str, int, int], None]
) -> Session:
    results: list[Result] = []
    counted: list[dict[str, Census]] = []
    pictured: list[tuple[str, Sequence[WireRow]]] = []
    hosts = 0
    for cell in cells:
        directory = out / cell.name

        def say(what: str, done: int, total: int, name: str = cell.name) -> None:
            progress(f"{name}: {what}", done, total)

        info = play(cell, directory, say, loss_percent)
        info.finished_us = time.time_ns() // 1000
        info.save(directory)
        wire = read(directory / WIRE) if cell.capture else None
        if wire:
            pictured.append((f"{cell.dissemination}: {cell.publishers} to {cell.subscribers}", wire))
        results.append(count(directory, info, wire, int(info.extra.get("expected", 0))))
        counted.append(msgspec.convert(info.extra["census"], dict[str, Census]))
        hosts = max(hosts, len(info.extra["hosts"]))
    session = Session(
        out=str(out),
        topology=cells[0].topology or "single",
        hosts=hosts,
        cells=results,
        before=counted[0]["before"],
        own=[each["own"] for each in counted],
        after=counted[-1]["after"],
        left=counted[-1]["own_after"],
    )
    if pictured:
        from experiments.capture.picture import draw  # matplotlib takes a second, and may have something to say

        title = f"Mininet, {session.topology}, {hosts} hosts: latency between applications and on the wire"
        session.picture = str(draw(pictured, out / PICTURE, title))
    (out / "mininet.json").write_bytes(msgspec.json.format(msgspec.json.encode(session), indent=2) + b"\n")
    return session


def _new_directory(parent: Path = Path("runs")) -> Path:
    """A folder for a run that was not told where to go; nobody else is given the same one."""
    for number in range(1, 10_000):
        path = parent / f"mininet-{number}"
        with suppress(FileExistsError):
            path.mkdir(parents=True)
            return path
    raise LocalProtocolError(f"{parent} is full of runs; name a directory with --out")
