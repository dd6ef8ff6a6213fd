"""Rounds of joins, kills, leaves and stops on a living ring of processes, until it agrees again, or is broken.

Broken is a ring of which, 30 s after the last event, some live node's `dht ring` is not the list of the live nodes.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

from broker.local_ring import LocalRing, Node
from broker.processes import ProcessFailed
from chord.errors import RingcastError
from chord.messages import Neighbours, Pointer
from chord.views import is_consistent
from experiments.rings.events import Events
from experiments.rings.ledger import Ledger
from experiments.rings.observer import Observer
from experiments.rings.outcome import REPLICAS, Options, Outcome
from experiments.rings.plan import FEWEST, MOST, draw
from experiments.rings.settle import all_ideal

AGREED_WITHIN_S = 30.0
COPIED_WITHIN_S = 20.0
FOUND_WITHIN_S = 10.0
POLL_S = 0.1

WRITES = 10
"""Changes of records in each round, from half a second before its first event to half a second after its last."""


class LivingRing:
    """A ring that goes from round to round, until it is closed."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._rng = random.Random(f"{options.seed}/{options.first}/chain")
        self._cluster = f"rounds-{options.seed}-{options.first}-{os.getpid()}"
        self._size = options.nodes or self._rng.randint(FEWEST, MOST)
        self._start()

    def close(self) -> None:
        """End every process."""
        self._events.close()
        self._observer.close()
        self._ring.close()

    def play(self, number: int) -> Outcome:
        """Carry a round out. A ring that it breaks is replaced by a new one for the next."""
        nodes = self._grown()
        self._events = Events(self._ring, nodes)
        plan = draw(self._options.seed, number, len(nodes), self._options.successors, REPLICAS)
        outcome = Outcome(plan=plan, successors=self._options.successors)
        self._size = max(FEWEST, plan.after)
        try:
            last_at = self._carry_out(outcome)
            self._judge(outcome, last_at)
        except ProcessFailed as error:
            outcome.broken = str(error)
        if outcome.broken:
            views = self._observer.views(self._ring.addresses())
            outcome.views = {address: _said(view) for address, view in views.items()}
            self.close()
            self._start()
        return outcome

    # Before a round ------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Make what a new ring needs; its nodes are started when a round begins."""
        self._ring = LocalRing()
        self._ring.options = ["--cluster", self._cluster, "--successors", str(self._options.successors)]
        self._observer = Observer(self._cluster)
        self._ledger = Ledger(self._observer, f"{self._options.first}/{time.monotonic_ns()}", self._rng)
        self._events = Events(self._ring, [])

    def _grown(self) -> list[Node]:
        """The nodes in ring order, after a ring that has become too small has grown."""
        missing = self._size - len(self._ring.nodes)
        if missing > 0:
            self._ring.grow(missing)
            if not self._wait(self._agrees, time.monotonic() + AGREED_WITHIN_S):
                raise ProcessFailed(f"a ring of {self._size} did not form within {AGREED_WITHIN_S:.0f} s")
        return sorted(self._ring.nodes, key=lambda node: node.identifier)

    # The round -----------------------------------------------------------------------------------------------------

    def _carry_out(self, outcome: Outcome) -> float:
        """Do everything at its moment, writing meanwhile; the time of the last event."""
        began_at = time.monotonic() + 0.5
        plan = outcome.plan
        puts, acknowledged = self._ledger.puts, self._ledger.acknowledged
        agenda = self._events.agenda(plan.events)
        for _ in range(WRITES):
            agenda.append((self._rng.uniform(-0.5, plan.last_s + 0.5), 0, self._write))
        last_at = began_at
        for at_s, _, act in sorted(agenda, key=lambda each: each[:2]):
            self._observer.turn_until(began_at + at_s)
            if what := act():
                last_at = time.monotonic()
                outcome.done.append(f"{last_at - began_at:.2f} s: {what}")
        while not self._ledger.settled:
            self._observer.turn_until(time.monotonic() + POLL_S)
        outcome.puts = self._ledger.puts - puts
        outcome.acknowledged = self._ledger.acknowledged - acknowledged
        return last_at

    def _write(self) -> str:
        addresses = self._ring.addresses()
        self._ledger.write(self._rng.sample(addresses, min(2, len(addresses))))
        return ""

    # The verdict ---------------------------------------------------------------------------------------------------

    def _judge(self, outcome: Outcome, last_at: float) -> None:
        if not self._wait(self._agrees, last_at + AGREED_WITHIN_S):
            outcome.broken = f"no agreement within {AGREED_WITHIN_S:.0f} s"
            return
        outcome.agreed_s = round(time.monotonic() - last_at, 3)
        self._events.reap(outcome.notes.append)
        outcome.read = len(self._ledger.records)
        wrong = self._read()
        if wrong:
            self._wait(lambda: not self._read(), time.monotonic() + FOUND_WITHIN_S)
            late = wrong
            wrong = self._read()
            outcome.late = len(late) - len(wrong)
            outcome.notes += [f"{name}: {what}" for name, what in late.items() if name not in wrong]
        outcome.wrong = {**self._ledger.unseen, **wrong}
        self._ledger.unseen = {}
        self._ledger.forget(list(wrong))
        if self._wait(self._copied, time.monotonic() + COPIED_WITHIN_S):
            outcome.copied_s = round(time.monotonic() - last_at, 3)

    def _wait(self, holds: Callable[[], bool], until: float) -> bool:
        while not holds():
            if time.monotonic() > until:
                return False
            self._observer.turn_until(time.monotonic() + POLL_S)
        return True

    def _read(self) -> dict[str, str]:
        addresses = self._ring.addresses()
        return self._ledger.read(lambda: self._rng.choice(addresses))

    def _copied(self) -> bool:
        members = [Pointer(node.identifier, node.address, 0) for node in self._ring.nodes]
        members.sort(key=lambda pointer: pointer.id)
        return not self._ledger.under_copied(members, REPLICAS)

    def _agrees(self) -> bool:
        """Whether the walk from each live node is the live nodes, with full lists. Raises ProcessFailed."""
        self._ring.look()
        for node in self._ring.nodes:
            if node.process.poll() is not None:
                raise ProcessFailed(f"{node.address} ended by itself: {node.errors.read_text().strip() or 'no word'}")
        if not all(node.ready for node in self._ring.nodes):
            return False
        addresses = self._ring.addresses()
        return all(  # one of them first, which mostly is enough to see that they do not
            all_ideal(self._observer.views(asked), addresses, self._options.successors)
            for asked in (addresses[:1], addresses)
        )


def _said(view: list[Neighbours] | RingcastError) -> str:
    """What a node says of the ring, in a line."""
    if isinstance(view, RingcastError):
        return f"nothing: {view}"
    agree = "views agree" if is_consistent(view) else "views differ"
    return f"{agree}: " + ", ".join(f"{each.member.address} ({len(each.successors)} listed)" for each in view)
