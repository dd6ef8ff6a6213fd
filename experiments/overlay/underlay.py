"""What a simulated ring's frames take from one address to another, for reckoning without sending any."""

from __future__ import annotations

import random

from sim.latency import Model, latency_of


class Delays:
    """The latencies of a run of `python -m sim` with this model and seed.

    Where every frame draws its own (uniform, and the jitter of the others), each call draws one too.
    """

    def __init__(self, model: Model, seed: int) -> None:
        self._latency = latency_of(model, seed)
        self._rng = random.Random(f"{seed}/overlay-delays")

    def one_way_s(self, source: str, target: str) -> float:
        """Seconds that one frame takes."""
        return self._latency(self._rng, source, target)

    def round_trip_s(self, source: str, target: str) -> float:
        """Seconds that a question and its answer take; a process takes no time to answer."""
        return self.one_way_s(source, target) + self.one_way_s(target, source)
