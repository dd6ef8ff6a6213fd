"""Lookups of random keys by members of a ring under churn: judged when answered, and made once more if they fail."""

from __future__ import annotations

from collections import Counter
from functools import partial

from chord.asking import RETRY_PAUSE_S
from chord.errors import RingcastError
from chord.lookup import Walk, find_owner
from chord.messages import Pointer
from sim.cluster import Node
from sim.paper.churning import Churning
from sim.paper.owners import Question


class Lookups:
    """So many lookups, a Poisson process of `per_s` a second, by random members.

    Counted are those that were answered before whoever asked was gone. A time-out is an exchange with a member that
    was gone; one with a living member, whose reply was only `late`, is counted apart. Lookups made once more leave no
    trace.
    """

    def __init__(self, ring: Churning, count: int, per_s: float) -> None:
        self.count = count
        self.hops: Counter[int] = Counter()
        self.timeouts: Counter[int] = Counter()
        self.late = self.erred = self.wrong = self.wrong_strictly = self.failed_twice = 0
        self._ring = ring
        self._rng = ring.rng("lookups")
        self._per_s = per_s
        self._space = ring.settings.space
        self._begun = 0
        self._later()

    @property
    def all_begun(self) -> bool:
        """Whether as many were asked as are to be."""
        return self._begun == self.count

    def _later(self) -> None:
        self._ring.scheduler.after(self._rng.expovariate(self._per_s), self._begin)

    def _begin(self) -> None:
        self._begun += 1
        self._ask(self._ring.settled(self._rng), self._rng.getrandbits(self._space.bits), again=False)
        if not self.all_begun:
            self._later()

    def _ask(self, node: Node, key: int, again: bool) -> None:
        walk, question = Walk(key), self._ring.owners.ask(key)
        lookup = find_owner(node.host.kernel, self._space, [node.host.members[0].me], walk)
        node.process.start(lookup).when_done(partial(self._answered, node, walk, question, again))

    def _answered(
        self,
        node: Node,
        walk: Walk,
        question: Question,
        again: bool,
        owner: Pointer | None,
        error: RingcastError | None,
    ) -> None:
        right, strictly = self._ring.owners.answered(question, owner)
        if again:
            self.failed_twice += not right
            return
        silent = [exchange.address for exchange in walk.exchanges if exchange.timed_out]
        dead = sum(address not in self._ring.nodes for address in silent)
        self._ring.traced.walked(node.host, walk, error)
        self.hops[walk.hops] += 1
        self.timeouts[dead] += 1
        self.late += len(silent) - dead
        self.erred += error is not None
        self.wrong += error is None and not right
        self.wrong_strictly += error is None and not strictly
        if not right:
            pause_s = RETRY_PAUSE_S * self._rng.uniform(0.5, 1.5)
            self._ring.scheduler.after(pause_s, partial(self._retry, node, walk.key))

    def _retry(self, node: Node, key: int) -> None:
        """By the same member, or by another one if that is gone."""
        here = self._ring.nodes.get(node.host.kernel.address) is node and not node.leaving
        self._ask(node if here else self._ring.settled(self._rng), key, again=True)
