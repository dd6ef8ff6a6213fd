"""The blocks of a static cell: a ring each, with its share of the lookups, by a seed that the cell's decides.

What comes of a block depends on its options alone, so that it may run anywhere, beside any others, in any order.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable

import msgspec
import numpy as np
from msgspec.structs import replace

from chord.errors import RingcastError
from experiments.sweep.cells import Cell
from sim.static import study
from sim.static.report import IdentifierSource, Options, Report, fastest

SEED_BITS = 53
"""As many as any reader of JSON keeps."""


class Outcome(msgspec.Struct, kw_only=True, frozen=True):
    """What came of one block: its report, or why it failed."""

    options: Options
    report: Report | None = None
    failure: str = ""


def blocks_of(cell: Cell) -> list[Options]:
    """What the engine is asked for each ring of a cell; their lookups differ by one at most."""
    each, more = divmod(cell.lookups, cell.ring_count)
    return [
        Options(
            nodes=cell.nodes,
            lookups=each + (number < more),
            successors=cell.successors,
            vnodes=cell.vnodes,
            fail=cell.faults[0].share if cell.faults else 0.0,
            seed=seed_of(cell.seed, number),
            identifiers=IdentifierSource.drawn,
        )
        for number in range(cell.ring_count)
    ]


def seed_of(seed: int, number: int) -> int:
    """The seed of a block, counted from 0: the first has that of its cell, the others one drawn from it."""
    if number == 0:
        return seed
    (drawn,) = np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(1, np.uint64).tolist()
    return int(drawn) >> (64 - SEED_BITS)


def attempt(options: Options, advance: Callable[[int], None] = lambda _done: None) -> Outcome:
    """Run one block by the fastest engine that is installed here; whatever goes wrong in it is told in the outcome."""
    try:
        report = study.run(replace(options, engine=fastest()), time.monotonic, advance)
    except RingcastError as error:
        return Outcome(options=options, failure=str(error) or type(error).__name__)
    except Exception as error:  # of a machine of a cluster nothing else comes back
        return Outcome(options=options, failure=f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
    return Outcome(options=options, report=report)
