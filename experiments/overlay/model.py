"""A model of how long lookups take: median = (a + b * hops) * (1 + c * members), one for each source and mode.

`b` is what one more hop takes: a round trip and the work at both ends. `a` is the exchange with the node first asked,
recursively also the step to the owner and the answer. `c` is for processes that share a machine: each one's upkeep
keeps the others waiting. It is 0 unless rings of three sizes were given and it brings the medians nearer: of two, one
would do for whatever else was different between them.

Fitted are medians of lookups of so many hops in one run, by least squares of their relative errors, weighted by how
many there are. How lookups of as many hops differ among themselves is kept as the quantiles of latency over model.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median

import msgspec
import numpy as np
from msgspec.structs import replace

from chord.errors import LocalProtocolError

LOADS = tuple(step / 400 for step in range(41))
"""The values of `c` that are tried: up to a tenth for each member."""

SIZES = 3
"""Ring sizes without which `c` is not looked for."""

BETTER = 0.9
"""By how much `c` has to reduce the squared errors to be taken."""

QUANTILES = 99


class NoModel(LocalProtocolError):
    """Runs that no model can be fitted on. The text says which others to give."""


@dataclass(frozen=True, slots=True)
class Group:
    """Lookups of so many hops in a ring of so many members; latencies in microseconds."""

    members: int
    hops: int
    latencies_us: Sequence[int]


class Model(msgspec.Struct, kw_only=True, frozen=True):
    """Coefficients, and `spread`: the quantiles of latency over model. `error`: the mean relative one of medians."""

    mode: str
    a_us: float
    b_us: float
    c: float
    spread: list[float]
    lookups: int
    error: float

    def median_us(self, hops: float, members: int) -> float:
        """What half of all lookups of so many hops take at most."""
        return (self.a_us + self.b_us * hops) * (1 + self.c * members)

    def p50_us(self, hops: Mapping[int, int], members: int) -> float:
        """The median of lookups of which so many take so many hops each."""
        points = sorted(
            (self.median_us(taken, members) * factor, count)
            for (taken, count), factor in product(hops.items(), self.spread)
        )
        half = sum(count for _, count in points) / 2
        for latency_us, count in points:
            half -= count
            if half <= 0:
                return latency_us
        raise NoModel("there are no lookups to predict")

    def for_mode(self, mode: str) -> Model:
        """The same for lookups of the other mode, as far as messages alone tell.

        Of h hops the iterative one has h + 1 exchanges of two messages each, the recursive one h + 3 messages, one
        after the other: through the h + 1 members to the owner, and its answer.
        """
        if mode == self.mode:
            return self
        message = self.b_us / 2 if self.mode == "iterative" else self.b_us
        if self.mode == "iterative":
            a_us, b_us = self.a_us + message, message
        else:
            a_us, b_us = self.a_us - message, 2 * message
        return replace(self, mode=mode, a_us=max(a_us, 0.0), b_us=b_us)


def fit(mode: str, groups: Iterable[Group]) -> Model:
    """Fit a model. Raises NoModel when all lookups took as many hops."""
    kept = [group for group in groups if group.latencies_us]
    if len({group.hops for group in kept}) < 2:
        raise NoModel(f"all {mode} lookups took the same number of hops; give runs of larger rings")
    loads = LOADS if len({group.members for group in kept}) >= SIZES else (0.0,)
    plain = _solved(kept, 0.0)
    best = min((_solved(kept, load) for load in loads), key=lambda solved: solved[0])
    _, a_us, b_us, c = best if best[0] < BETTER * plain[0] else plain
    ratios = [
        latency / ((a_us + b_us * group.hops) * (1 + c * group.members))
        for group in kept
        for latency in group.latencies_us
    ]
    weights = sum(len(group.latencies_us) for group in kept)
    off = sum(
        len(group.latencies_us) * abs((a_us + b_us * group.hops) * (1 + c * group.members) / _middle(group) - 1)
        for group in kept
    )
    shares = [(number + 0.5) / QUANTILES for number in range(QUANTILES)]
    spread = [float(each) for each in np.quantile(ratios, shares)]
    return Model(mode=mode, a_us=a_us, b_us=b_us, c=c, spread=spread, lookups=weights, error=off / weights)


def _solved(groups: Sequence[Group], c: float) -> tuple[float, float, float, float]:
    """The squared relative error, and a, b, c, with a and b not below 0."""
    rows: list[tuple[float, float]] = []
    wanted: list[float] = []
    for group in groups:
        middle = _middle(group)
        weight = math.sqrt(len(group.latencies_us)) / middle
        scale = weight * (1 + c * group.members)
        rows.append((scale, scale * group.hops))
        wanted.append(weight * middle)
    matrix, target = np.array(rows), np.array(wanted)
    best: tuple[float, float, float, float] | None = None
    for columns in ([0, 1], [0], [1]):
        part, *_ = np.linalg.lstsq(matrix[:, columns], target, rcond=None)
        if (part < 0).any():
            continue
        error = float(((matrix[:, columns] @ part - target) ** 2).sum())
        if best is None or error < best[0]:
            found = dict(zip(columns, map(float, part), strict=True))
            best = error, found.get(0, 0.0), found.get(1, 0.0), c
    assert best is not None, "one of the columns alone has a positive coefficient"
    return best


def _middle(group: Group) -> float:
    return max(1.0, median(group.latencies_us))


def grouped(members: int, hops: Sequence[int], latencies_us: Sequence[int]) -> list[Group]:
    """Lookups of one run by their hops."""
    by_hops: dict[int, list[int]] = defaultdict(list)
    for taken, latency in zip(hops, latencies_us, strict=True):
        by_hops[taken].append(latency)
    return [Group(members, taken, found) for taken, found in sorted(by_hops.items())]


def counted(hops: Iterable[int]) -> dict[int, int]:
    """How many lookups took how many hops."""
    return dict(sorted(Counter(hops).items()))
