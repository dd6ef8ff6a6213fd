"""One study of a static ring from a seed: lookups from random living members for random keys, and what they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chord.errors import LocalProtocolError
from sim.paper.counts import mean, percentile
from sim.paper.published import half_log2
from sim.static.engine import walker
from sim.static.load import shares
from sim.static.making import drawn, hashed
from sim.static.report import IdentifierSource, Options, Report, Taken
from sim.static.ring import Ring

AT_ONCE = 1 << 14
"""Lookups of one block: what is kept of each of them stays in the cache of the processor."""

WARM = 64


class NobodyLeft(LocalProtocolError):
    """Every node has failed."""


@dataclass
class Study:
    """A ring, and who of its members is dead."""

    ring: Ring
    dead: NDArray[np.bool_] | None
    living: NDArray[np.int64] | None


def run(options: Options, clock: Callable[[], float], advance: Callable[[int], None] = lambda _done: None) -> Report:
    """Make the ring and look up; `clock` tells the seconds, and nothing but what is told of them depends on it.

    `advance` hears of each block how many lookups it had. Raises LocalProtocolError when numba is asked for and
    missing, NobodyLeft when everybody has failed.
    """
    walk = walker(options.engine)
    began = clock()
    study = make(options)
    ring = study.ring
    made = clock()
    walk(ring, np.zeros(WARM, np.int64), np.arange(WARM, dtype=np.uint64) << np.uint64(58), options.successors, None)
    rng = _chance(options, "lookups")
    hops, timeouts, timeouts_at, failed = Counter[int](), Counter[int](), Counter[int](), 0
    ready = clock()
    for begin in range(0, options.lookups, AT_ONCE):
        count = min(AT_ONCE, options.lookups - begin)
        keys = ring.shifted(rng.integers(0, 2**64 - 1, count, np.uint64, endpoint=True))
        starts = rng.integers(0, ring.size if study.living is None else study.living.size, count)
        walks = walk(
            ring, starts if study.living is None else study.living[starts], keys, options.successors, study.dead
        )
        _count(hops, walks.hops)
        _count(timeouts, walks.timeouts)
        if study.dead is not None:
            _count(timeouts_at, walks.hops, walks.timeouts)
        failed += count - int(np.count_nonzero(walks.found))
        advance(count)
    ended = clock()
    load = shares(ring, options.nodes)
    ideal = options.successors <= 1 and not options.fail
    return Report(
        options=options,
        members=ring.size,
        living=ring.size if study.living is None else study.living.size,
        hops=_taken(hops),
        timeouts=_taken(timeouts),
        timeouts_at=dict(sorted(timeouts_at.items())),
        failed=failed,
        expected_hops=half_log2(ring.size) if ideal else None,
        load_p1=float(np.percentile(load, 1, method="inverted_cdf")),
        load_p99=float(np.percentile(load, 99, method="inverted_cdf")),
        load_most=float(load.max()),
        making_s=made - began,
        lookups_s=ended - ready,
    )


def make(options: Options) -> Study:
    """The ring of a study, some of it dead. Hashed, it is the ring of sim/paper/rings.py of the same seed."""
    if options.identifiers is IdentifierSource.hashed:
        ring = hashed(options.nodes, options.vnodes, f"ring-{options.seed}")
    else:
        ring = drawn(options.nodes, options.vnodes, _chance(options, "identifiers"))
    if not options.fail:
        return Study(ring, None, None)
    gone = _chance(options, "failures").random(options.nodes, np.float32) < options.fail
    dead = gone if ring.processes is None else gone[ring.processes]
    living = np.flatnonzero(~dead)
    if not living.size:
        raise NobodyLeft(f"with seed {options.seed} all of {options.nodes} nodes fail: nobody is left to ask")
    return Study(ring, dead, living)


def _chance(options: Options, purpose: str) -> np.random.Generator:
    """A source of chance of its own for each purpose, as sim/cluster.py has them."""
    return np.random.default_rng([options.seed, *purpose.encode()])


def _count(counts: Counter[int], of_each: NDArray[np.uint16], weights: NDArray[np.uint16] | None = None) -> None:
    """Count how often each number is there, or sum up the weights of its places."""
    for taken, number in enumerate(np.bincount(of_each, weights).tolist()):
        if number:
            counts[taken] += int(number)


def _taken(counts: Counter[int]) -> Taken:
    return Taken(
        mean=mean(counts),
        p1=percentile(counts, 1),
        p99=percentile(counts, 99),
        distribution=dict(sorted(counts.items())),
    )
