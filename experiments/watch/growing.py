"""What there is of runs that may have only begun: their parts so far, and what their spool files grew by."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.traces.changes import Change
from experiments.traces.manifest import Seen, head
from experiments.traces.run import RUN_FILE, TRACES, WRITTEN_HERE, BadRun, Part, load, parts
from experiments.watch.samples import is_virtual


@dataclass(slots=True)
class Found:
    """The parts of some runs in the order in which they are read, and what is not read, in a sentence each."""

    parts: list[Part] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def found_so_far(runs: Sequence[Path]) -> Found:
    """The parts that are there. A run that is missing, or has left no traces, may come yet.

    Those with real clocks come first, in the order in which they began. Rows of virtual time happened now, as far as
    the watermark is concerned: before older rows of a real clock they would make these late.

    A part that cannot be read, or that is named like another one, is a problem. Raises BadRun for what is no directory.
    """
    result = Found()
    names: dict[str, Path] = {}
    for run in runs:
        if run.exists() and not run.is_dir():
            raise BadRun(f"{run} is not a directory; give the directory of a run")
        for part in _parts(run, result.problems):
            other = names.get(part.info.run)
            if other is None:
                names[part.info.run] = part.traces
                result.parts.append(part)
            elif other.resolve() != part.traces.resolve():
                result.problems.append(
                    f"{part.traces.parent}: named {part.info.run!r} like {other.parent}; give each a `run` of its own"
                )
    result.parts.sort(key=lambda part: (is_virtual(part.info), part.info.started_us))
    return result


def growth(found: Sequence[Part], seen: Mapping[str, Seen], base: Path) -> Iterator[Change]:
    """The spool files that are new, or changed since they were read, each with the byte to read on from.

    `seen` is by `name_of`. A file that became smaller, or begins otherwise, is another one, and is read from its start.
    """
    for part in found:
        for path in part.spools():
            try:
                status = path.stat()
                before = seen.get(name_of(path, base))
                start = 0 if before is None or _is_another(path, status.st_size, before) else before.end
            except FileNotFoundError:  # its writer gives it its final name at this moment
                continue
            if before is None or (status.st_size, status.st_mtime_ns) != (before.size, before.changed_ns):
                name = name_of(path, base)
                yield Change(part, path, name, start, status.st_size, status.st_mtime_ns)


def name_of(path: Path, base: Path) -> str:
    """What a spool file is known by, finished or not: its way from the folder of the results, without the ending.

    Not the run's name: the rows of a run whose run.json comes after its first traces are still the same ones.
    """
    return os.path.relpath(path.parent.resolve() / path.stem, base.resolve())


def _is_another(path: Path, size: int, before: Seen) -> bool:
    return size < before.end or head(path, before.end) != before.head


def _parts(run: Path, problems: list[str]) -> list[Part]:
    files = sorted(_run_files(run))
    if not files:
        try:
            return parts(run)
        except BadRun:  # it has not begun
            return []
    read = []
    for path in files:
        try:
            read.append(Part(load(path), path.parent / TRACES))
        except BadRun as error:
            if path.exists():
                problems.append(str(error))
    return read


def _run_files(run: Path) -> Iterator[Path]:
    for folder, below, files in os.walk(run):
        below[:] = [name for name in below if name not in (*WRITTEN_HERE, TRACES)]
        if RUN_FILE in files:
            yield Path(folder) / RUN_FILE
