"""The contract of a run directory: one or more run.json below it, each beside a `traces/` folder of spool files.

Spool files alone, as `dht lookup --trace DIR` leaves them, are a run too, of which nothing else is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from chord.errors import LocalProtocolError
from experiments.traces.spools import started_us

RUN_FILE = "run.json"
TRACES = "traces"
WRITTEN_HERE = ("parquet", "analysis")
SAID_WHEN_NULL = ("ring_size", "successors", "bits", "seed")


class BadRun(LocalProtocolError):
    """A run directory that is missing or does not keep the contract. The text says what to do."""


class SubscriberInfo(msgspec.Struct, kw_only=True):
    """What one subscriber asked for: its topics, and whether from the first sample on or from when it came.

    `label` is what people call it, and `zone` whose brokers it read from, if it did.
    """

    topics: list[str]
    from_start: bool = False
    label: str | None = None
    zone: str | None = None


class RunInfo(msgspec.Struct, kw_only=True):
    """What run.json says about the rows in `traces/`. `extra` keeps the keys that are not named here.

    `ring_size`, `successors` and `bits` are null when nobody knows them. `kill_us` is the time of a `kill -9`, in
    microseconds since the epoch, and `primary_kill_us` that of the primary of `killed_zone`; `seed` belongs to
    simulated runs. `clients` is how many publishers and subscribers there were, in a run that is about their number.

    The rest is what a sweep varies: virtual nodes of each process, the routing `mode` of its lookups, how samples
    travelled (`dissemination`) and between how many; which `plan` and `cell`, and the `repeat` of it, on what
    `machine`; the `faults` that were done, each with `kind`, `at_us` (since the epoch) and `target`. `finished_us` is
    when the run ended, and stays null in one that did not.
    """

    run: str
    source: Literal["live", "mininet", "sim", "static", "unknown"]
    cluster: str
    ring_size: int | None
    successors: int | None
    bits: int | None
    commit: str
    started_us: int
    seed: int | None = None
    kill_us: int | None = None
    primary_kill_us: int | None = None
    killed_zone: str | None = None
    clients: int | None = None
    subscribers: dict[str, SubscriberInfo] | None = None
    vnodes: int | None = None
    mode: str | None = None
    dissemination: str | None = None
    publishers: int | None = None
    subscriber_count: int | None = None
    payload_bytes: int | None = None
    repeat: int | None = None
    plan: str | None = None
    cell: str | None = None
    machine: dict[str, Any] | None = None
    faults: list[dict[str, Any]] | None = None
    finished_us: int | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    def save(self, directory: Path) -> Path:
        """Write run.json into `directory`, whole or not at all; return its path."""
        directory.mkdir(parents=True, exist_ok=True)
        named: dict[str, Any] = msgspec.to_builtins(self)
        named.pop("extra")
        content = {key: value for key, value in named.items() if value is not None or key in SAID_WHEN_NULL}
        path = directory / RUN_FILE
        written = directory / (RUN_FILE + ".new")
        written.write_bytes(msgspec.json.format(msgspec.json.encode({**self.extra, **content}), indent=2) + b"\n")
        return written.replace(path)


@dataclass(frozen=True, slots=True)
class Part:
    """What is known of some spool files, and the folder that they are in."""

    info: RunInfo
    traces: Path

    def spools(self) -> list[Path]:
        """The spool files by name: finished ones, and what a killed process left."""
        return _spools(self.traces)


def load(path: Path) -> RunInfo:
    """Read one run.json. Raises BadRun."""
    try:
        raw: object = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise BadRun(f"{path} cannot be read ({error.strerror}); give the directory that a run wrote") from None
    except msgspec.DecodeError as error:
        raise BadRun(f"{path} is not JSON ({error}); run again, or mend it by hand") from None
    try:
        info = msgspec.convert(raw, RunInfo)
    except msgspec.ValidationError as error:
        raise BadRun(f"{path} does not describe a run: {error}; docs are in experiments/traces/run.py") from None
    assert isinstance(raw, dict)
    info.extra = {key: value for key, value in raw.items() if key not in RunInfo.__struct_fields__}
    if info.ring_size is not None and info.ring_size < 1:
        raise BadRun(f"{path} says ring_size {info.ring_size}; a ring has at least 1 member")
    return info


def parts(run: Path) -> list[Part]:
    """Every run.json at or below `run`, in the order of ring size and name; without any, the spool files of `run`.

    Raises BadRun if there are none of them either.
    """
    if not run.is_dir():
        raise BadRun(f"{run} is {'not a directory' if run.exists() else 'missing'}; give the directory of a run")
    found = sorted(path for path in run.rglob(RUN_FILE) if not _ours(path.relative_to(run)))
    if not found:
        return [_bare(run)]
    read = [Part(load(path), path.parent / TRACES) for path in found]
    names = [part.info.run for part in read]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadRun(f"{run} holds {names.count(twice)} parts named {twice!r}; give every run.json a `run` of its own")
    return sorted(read, key=lambda part: (part.info.ring_size or 0, part.info.run))


def _bare(run: Path) -> Part:
    """Spool files without a run.json, in `run` or in its `traces/`: a run of which only the name is known."""
    if run.resolve().name == TRACES and (run.resolve().parent / RUN_FILE).exists():
        raise BadRun(f"{run} belongs to the run in {run.resolve().parent}; give that directory")
    traces, spools = next(((folder, found) for folder in (run, run / TRACES) if (found := _spools(folder))), (run, []))
    if not spools:
        raise BadRun(
            f"{run} holds no {RUN_FILE}, neither in itself nor in a folder below, and no trace files; "
            "give the directory of a run, or of `dht lookup --trace`"
        )
    info = RunInfo(
        run=run.resolve().name,
        source="unknown",
        cluster="unknown",
        ring_size=None,
        successors=None,
        bits=None,
        commit="unknown",
        started_us=min(map(started_us, spools)),
    )
    return Part(info, traces)


def _spools(folder: Path) -> list[Path]:
    """Each once, also if its writer gives it its final name between the two listings: so the final names come last."""
    by_stem = {path.stem: path for ending in ("*.part", "*.trace") for path in folder.glob(ending)}
    return sorted(by_stem.values())


def _ours(relative: Path) -> bool:
    return any(part in WRITTEN_HERE for part in relative.parts[:-1])
