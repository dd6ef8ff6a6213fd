"""A run of the command: its cells one after the other, each in a folder of the run directory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from chord.errors import LocalProtocolError
from experiments.capture.matching import WIRE, WireRow, read
from experiments.capture.picture import draw
from experiments.mininet.census import Census
from experiments.mininet.place import play
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
    cells: Sequence[Cell], out: Path, loss_percent: float | None, progress: Callable[[str, int, int], None]
) -> Session:
    """Play them. Raises RingcastError; what was done by then stays."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise LocalProtocolError(f"{out} exists and is not an empty directory; name a new one with --out")
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
        title = f"Mininet, {session.topology}, {hosts} hosts: latency between applications and on the wire"
        session.picture = str(draw(pictured, out / PICTURE, title))
    (out / "mininet.json").write_bytes(msgspec.json.format(msgspec.json.encode(session), indent=2) + b"\n")
    return session


def free_directory(parent: Path = Path("runs")) -> Path:
    """A new folder for a run that was not told where to go."""
    for number in range(1, 10_000):
        path = parent / f"mininet-{number}"
        if not path.exists():
            return path
    raise LocalProtocolError(f"{parent} is full of runs; name a directory with --out")
