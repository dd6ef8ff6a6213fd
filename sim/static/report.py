"""What a study of a static ring is asked, and what it tells: without NumPy, which the command line starts without."""

from __future__ import annotations

from enum import StrEnum
from importlib.util import find_spec

import msgspec


class Engine(StrEnum):
    """Two ways to the same results: compiled by numba, or NumPy alone."""

    numba = "numba"
    numpy = "numpy"


def fastest() -> Engine:
    """The fastest that is installed."""
    return Engine.numba if find_spec("numba") else Engine.numpy


class IdentifierSource(StrEnum):
    """Where they come from: the hashes of the production code, or chance."""

    hashed = "hashed"
    drawn = "drawn"


class Options(msgspec.Struct, kw_only=True, frozen=True):
    """What is studied. `fail`: the probability with which each process has failed; nothing has been repaired."""

    nodes: int = 1 << 20
    lookups: int = 1_000_000
    successors: int = 0
    vnodes: int = 1
    fail: float = 0.0
    seed: int = 1
    identifiers: IdentifierSource = IdentifierSource.drawn
    engine: Engine = Engine.numpy


class Taken(msgspec.Struct, kw_only=True, frozen=True):
    """How often lookups took so many of something."""

    mean: float
    p1: int
    p99: int
    distribution: dict[int, int]


class Report(msgspec.Struct, kw_only=True, frozen=True):
    """What came of it. Hops go between members, up to the key's predecessor; the seconds are real ones.

    `failed`: lookups that did not get there, or whose last member knew nobody alive after it. `expected_hops`: half
    log2 of the members - 0.138, for fingers alone with nobody failed, from 1,024 members on. `load`: the share of the
    circle that a process owns over the mean. `timeouts_at`: of the lookups that took so many hops, all time-outs.
    """

    options: Options
    members: int
    living: int
    hops: Taken
    timeouts: Taken
    timeouts_at: dict[int, int]
    failed: int
    expected_hops: float | None
    load_p1: float
    load_p99: float
    load_most: float
    making_s: float
    lookups_s: float

    @property
    def lookups_per_s(self) -> float:
        """By one core."""
        return self.options.lookups / self.lookups_s
