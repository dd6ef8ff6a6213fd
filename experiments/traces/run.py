"""The contract of a run directory: one or more run.json below it, each beside a `traces/` folder of spool files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from chord.errors import LocalProtocolError

RUN_FILE = "run.json"
TRACES = "traces"
WRITTEN_HERE = ("parquet", "analysis")


class BadRun(LocalProtocolError):
    """A run directory that is missing or does not keep the contract. The text says what to do."""


class SubscriberInfo(msgspec.Struct, kw_only=True):
    """What one subscriber asked for: its topics, and whether from the first sample on or from when it came.

    `label` is what people call it.
    """

    topics: list[str]
    from_start: bool = False
    label: str | None = None


class RunInfo(msgspec.Struct, kw_only=True):
    """What run.json says about the rows in `traces/`. `extra` keeps the keys that are not named here.

    `kill_us` is the time of a `kill -9`, in microseconds since the epoch; `seed` belongs to simulated runs.
    """

    run: str
    source: Literal["live", "mininet", "sim", "static"]
    cluster: str
    ring_size: int
    successors: int
    bits: int
    commit: str
    started_us: int
    seed: int | None = None
    kill_us: int | None = None
    subscribers: dict[str, SubscriberInfo] | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    def save(self, directory: Path) -> Path:
        """Write run.json into `directory`, whole or not at all; return its path."""
        directory.mkdir(parents=True, exist_ok=True)
        named: dict[str, Any] = msgspec.to_builtins(self)
        named.pop("extra")
        content = {key: value for key, value in named.items() if value is not None or key == "seed"}
        path = directory / RUN_FILE
        written = directory / (RUN_FILE + ".new")
        written.write_bytes(msgspec.json.format(msgspec.json.encode({**self.extra, **content}), indent=2) + b"\n")
        return written.replace(path)


@dataclass(frozen=True, slots=True)
class Part:
    """One run.json and the spool files beside it."""

    info: RunInfo
    directory: Path

    def spools(self) -> list[Path]:
        """The spool files by name: finished ones, and what a killed process left."""
        traces = self.directory / TRACES
        return sorted([*traces.glob("*.trace"), *traces.glob("*.part")])


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
    if info.ring_size < 1:
        raise BadRun(f"{path} says ring_size {info.ring_size}; a ring has at least 1 member")
    return info


def parts(run: Path) -> list[Part]:
    """Every run.json at or below `run`, in the order of ring size and name. Raises BadRun if there is none."""
    if not run.is_dir():
        raise BadRun(f"{run} is {'not a directory' if run.exists() else 'missing'}; give the directory of a run")
    found = sorted(path for path in run.rglob(RUN_FILE) if not _ours(path.relative_to(run)))
    if not found:
        raise BadRun(f"{run} holds no {RUN_FILE}, neither in itself nor in a folder below; give the directory of a run")
    read = [Part(load(path), path.parent) for path in found]
    names = [part.info.run for part in read]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadRun(f"{run} holds {names.count(twice)} parts named {twice!r}; give every run.json a `run` of its own")
    return sorted(read, key=lambda part: (part.info.ring_size, part.info.run))


def _ours(relative: Path) -> bool:
    return any(part in WRITTEN_HERE for part in relative.parts[:-1])
