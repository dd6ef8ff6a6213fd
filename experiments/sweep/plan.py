"""What a sweep is asked for: which sizes, how many clients, and where its parts go."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chord.errors import LocalProtocolError
from chord.settings import Settings
from experiments.traces.run import RunInfo
from sim.commit import checked_out

MOST_NODES = 256
MOST_CLIENTS = 512
MODES = ("direct", "brokered")
"""The disseminations that each number of clients is tried in."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells of a sweep. Raises LocalProtocolError for what makes none.

    `sizes`: ring nodes; each ring is asked `lookups` names. `clients`: publishers and subscribers, half of each.
    """

    out: Path
    sizes: tuple[int, ...]
    lookups: int
    clients: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes and not self.clients:
            raise LocalProtocolError("nothing to sweep: neither --sizes nor --clients names a number")
        if self.out.exists() and (not self.out.is_dir() or any(self.out.iterdir())):
            raise LocalProtocolError(f"{self.out} exists and is not an empty directory; name a new one with --out")

    @property
    def cells(self) -> int:
        """How many parts the run will have."""
        return len(self.sizes) + len(MODES) * len(self.clients)

    def rings(self) -> Iterator[tuple[int, Path]]:
        """Each ring size, and the directory of its part."""
        for size in self.sizes:
            yield size, self.out / f"ring-{size:03}"

    def client_cells(self) -> Iterator[tuple[str, int, Path]]:
        """Each dissemination and number of clients, and the directory of its part."""
        for clients in self.clients:
            for mode in MODES:
                yield mode, clients, self.out / f"{mode}-{clients:03}"


def parse(option: str, text: str, least: int, most: int, even: bool = False) -> tuple[int, ...]:
    """Numbers with commas between them, in order, each once; none of an empty text. Raises LocalProtocolError."""
    try:
        numbers = sorted({int(each) for each in text.split(",")}) if text.strip() else []
    except ValueError:
        raise LocalProtocolError(
            f"{option} takes whole numbers with commas between them, like 4,8; not {text!r}"
        ) from None
    for number in numbers:
        if not least <= number <= most:
            raise LocalProtocolError(f"{option} takes numbers from {least} to {most}, not {number}")
        if even and number % 2:
            raise LocalProtocolError(f"{option} takes even numbers, half publishers and half subscribers; not {number}")
    return tuple(numbers)


def describe(part: Path, ring_size: int, clients: int | None = None) -> RunInfo:
    """What run.json says of a part that begins now."""
    return RunInfo(
        run=f"{part.resolve().parent.name}-{part.name}",
        source="live",
        cluster=Settings().cluster,
        ring_size=ring_size,
        successors=Settings().successors,
        bits=Settings().space.bits,
        commit=checked_out(),
        started_us=time.time_ns() // 1000,
        clients=clients,
    )
