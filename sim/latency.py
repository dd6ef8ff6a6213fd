"""How long a frame takes from one address to another, by the names of `--latency`."""

from __future__ import annotations

import math
import random
from enum import StrEnum
from statistics import NormalDist

import mmh3

from chord.errors import LocalProtocolError
from sim.network import Latency, constant, uniform

CONSTANT_S = 0.010
UNIFORM_S = 0.001, 0.020

KING_MEDIAN_S = 0.154
KING_SIGMA = 0.56
KING_LEAST_S, KING_MOST_S = 0.002, 0.800
JITTER = 0.05
"""By how much of its latency a frame may be late, so that frames overtake each other."""

HERE_S = 0.0001
"""From an address to itself."""


class Model(StrEnum):
    """The latency models. Those from `transit_stub` on are distances on a graph (sim/underlay.py)."""

    constant = "constant"
    uniform = "uniform"
    king = "king"
    transit_stub = "transit-stub"
    waxman = "waxman"
    geometric = "geometric"


def latency_of(model: Model, seed: int) -> Latency:
    """The latencies of a run. Raises LocalProtocolError when the package is missing that a model needs."""
    match model:
        case Model.constant:
            return constant(CONSTANT_S)
        case Model.uniform:
            return uniform(*UNIFORM_S)
        case Model.king:
            return king(seed)
    try:
        from sim import underlay  # only who asks for a graph loads networkx
    except ModuleNotFoundError as error:
        raise LocalProtocolError(
            f"{model} needs {error.name}, which is not installed: `pip install 'ringcast[sim]'`"
        ) from None
    return underlay.Underlay(underlay.GRAPHS[model](seed), seed)


def king(seed: int) -> Latency:
    """A long tail: each pair of addresses has its own latency, the same in both directions, for the whole run.

    Round trips are log-normal with median 154 ms and mean 180 ms, cut off at 2 and 800 ms: shaped after what is told of
    the measurements between name servers by the King method (Gummadi et al. 2002) that the DHTs of their time were
    simulated with; it is not that data. Pairs are drawn independently, so detours may be shorter, as they were there.
    """
    of_pair: dict[tuple[str, str], float] = {}
    normal = NormalDist()

    def draw(source: str, target: str) -> float:
        if source == target:
            return HERE_S
        low, high = sorted((source, target))
        share = (mmh3.mmh3_x64_128_uintdigest(f"{seed}/{low}/{high}".encode(), 0) % 2**52 + 0.5) / 2**52
        round_trip_s = KING_MEDIAN_S * math.exp(KING_SIGMA * normal.inv_cdf(share))
        return min(max(round_trip_s, KING_LEAST_S), KING_MOST_S) / 2

    def latency(rng: random.Random, source: str, target: str) -> float:
        pair = source, target
        latency_s = of_pair.get(pair)
        if latency_s is None:
            latency_s = of_pair[pair] = draw(source, target)
        return latency_s * (1.0 + JITTER * rng.random())

    return latency
