"""Rounds of joins, kills, leaves and stops on a living ring of processes, until it agrees again, or is broken.

Broken is a ring of which, 30 s after the last event, some live node's `dht ring` is not the list of the live nodes.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from subprocess import TimeoutExpired

from msgspec import Struct

from broker.local_ring import LocalRing, Node
from broker.processes import ProcessFailed, end
from chord.errors import RingcastError
from chord.messages import Neighbours, Pointer
from chord.settings import Settings
from chord.views import is_consistent
from experiments.rings.ledger import Ledger
from experiments.rings.observer import Observer, Views
from experiments.rings.plan import FEWEST, MOST, Event, Plan, draw
from experiments.rings.settle import is_ideal

AGREED_WITHIN_S = 30.0
COPIED_WITHIN_S = 20.0
FOUND_WITHIN_S = 10.0
LEFT_WITHIN_S = 10.0
POLL_S = 0.1
OUTDATED = ("stale", "revived", "unseen")
"""What is wrong with a record of which a change was missed."""

WRITES = 10
"""Changes of records in each round, from half a second before its first event to half a second after its last."""


class Options(Struct, frozen=True, kw_only=True):
    """Which rounds, on which ring; `nodes` at the beginning, 0: drawn."""

    seed: int
    first: int = 1
    rounds: int
    nodes: int = 0
    successors: int = 8


class Outcome(Struct, kw_only=True):
    """One round. Times in seconds from its last event; None: not within the time.

    `agreed_s`: until every node's walk was the live nodes with full lists; `copied_s`: until each record was held by
    as many as it should. `wrong`: what was read that should not have been; `views`: what each live node said when the
    round was broken.
    """

    plan: Plan
    successors: int
    agreed_s: float | None = None
    copied_s: float | None = None
    broken: str = ""
    puts: int = 0
    acknowledged: int = 0
    read: int = 0
    wrong: dict[str, str] = {}
    late: int = 0
    done: list[str] = []
    views: dict[str, str] = {}
    notes: list[str] = []

    @property
    def bad(self) -> bool:
        """Whether the ring is broken, or a record wrong that had to be right."""
        return bool(self.broken or self.faults)

    @property
    def faults(self) -> dict[str, str]:
        """What is wrong though fewer nodes failed at once than hold a record."""
        return {name: what for name, what in self.wrong.items() if not self._excused(what)}

    @property
    def excused(self) -> dict[str, str]:
        """What is wrong because all nodes that held it may have failed at once."""
        return {name: what for name, what in self.wrong.items() if self._excused(what)}

    def _excused(self, what: str) -> bool:
        """A record is lost with the nodes that held it. One that stands still keeps it, but hears of no change."""
        failed = self.plan.count("kill")
        if what.partition(":")[0] in OUTDATED:
            failed += self.plan.long_stops
        return failed >= Settings().replicas

    def story(self) -> str:
        """What was done and what came of it, in lines, with how to do it again."""
        plan = self.plan
        lines = [f"round {plan.number} of seed {plan.seed}: {self.broken or f'{len(self.wrong)} records are wrong'}"]
        lines += [f"  {each}" for each in self.done]
        lines += [f"  {address} says {said}" for address, said in self.views.items()]
        lines += [f"  {name} {what}" for name, what in self.wrong.items()]
        lines += [f"  note: {note}" for note in self.notes]
        again = (
            f"--seed {plan.seed} --first {plan.number} --nodes {plan.nodes} --rounds 1 --successors {self.successors}"
        )
        return "\n".join([*lines, f"  again: python -m experiments rounds {again}"])


class LivingRing:
    """A ring that goes from round to round. Close it, or use it in a `with` block."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._rng = random.Random(f"{options.seed}/{options.first}/chain")
        self._settings = Settings(successors=options.successors)
        self._cluster = f"rounds-{options.seed}-{options.first}-{os.getpid()}"
        self._ring = self._new_ring()
        self._observer = Observer(self._cluster)
        self._ledger = self._new_ledger()
        self._nodes: list[Node] = []
        self._joiners: list[Node] = []
        self._killed: list[Node] = []
        self._leaving: list[tuple[Node, float]] = []
        self._stops: dict[int, int] = {}
        self._killed_at = ""
        self._size = options.nodes or self._rng.randint(FEWEST, MOST)

    def close(self) -> None:
        """End every process."""
        for node in (*self._killed, *(node for node, _ in self._leaving)):
            end(node.process)
        self._observer.close()
        self._ring.close()

    def play(self, number: int) -> Outcome:
        """Carry a round out. A ring that it breaks is replaced by a new one for the next."""
        self._nodes = self._begin()
        plan = draw(self._options.seed, number, len(self._nodes), self._options.successors, self._settings.replicas)
        outcome = Outcome(plan=plan, successors=self._options.successors)
        self._size = max(FEWEST, plan.after)
        try:
            last_at = self._carry_out(outcome)
            self._judge(outcome, last_at)
        except ProcessFailed as error:
            outcome.broken = str(error)
        if outcome.broken:
            outcome.views = {address: _said(view) for address, view in self._views().items()}
            self._start_over()
        return outcome

    # Before a round ------------------------------------------------------------------------------------------------

    def _new_ring(self) -> LocalRing:
        ring = LocalRing()
        ring.options = ["--cluster", self._cluster, "--successors", str(self._options.successors)]
        return ring

    def _new_ledger(self) -> Ledger:
        return Ledger(self._observer, f"{self._options.first}/{time.monotonic_ns()}", self._rng)

    def _start_over(self) -> None:
        self.close()
        self._ring, self._observer = self._new_ring(), Observer(self._cluster)
        self._ledger = self._new_ledger()
        self._killed, self._leaving = [], []

    def _begin(self) -> list[Node]:
        """The nodes in ring order, after a ring that has become too small has grown."""
        self._joiners, self._stops, self._killed_at = [], {}, ""
        missing = self._size - len(self._ring.nodes)
        if missing > 0:
            self._ring.grow(missing)
            deadline = time.monotonic() + AGREED_WITHIN_S
            while not self._agrees():
                if time.monotonic() > deadline:
                    raise ProcessFailed(f"a ring of {self._size} did not form within {AGREED_WITHIN_S:.0f} s")
                self._observer.turn_until(time.monotonic() + POLL_S)
        return sorted(self._ring.nodes, key=lambda node: node.identifier)

    # The events ----------------------------------------------------------------------------------------------------

    def _carry_out(self, outcome: Outcome) -> float:
        """Do everything at its moment, writing meanwhile; the time of the last event."""
        began_at = time.monotonic() + 0.5
        plan, rng = outcome.plan, self._rng
        puts, acknowledged = self._ledger.puts, self._ledger.acknowledged
        agenda: list[tuple[float, int, Callable[[], str]]] = []
        for position, event in enumerate(plan.events):
            agenda.append((event.at_s, position, partial(self._do, event)))
            if event.kind == "stop":
                agenda.append((event.at_s + event.lasts_s, position, partial(self._resume, event)))
        for _ in range(WRITES):
            agenda.append((rng.uniform(-0.5, plan.last_s + 0.5), 0, self._write))
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

    def _do(self, event: Event) -> str:
        if event.kind == "join":
            return self._join(event)
        node = self._node(event.node)
        label = f"{event.node} at {node.address or 'no address yet'}"
        if event.kind == "kill":
            self._killed_at = node.address or self._killed_at
            node.process.kill()
            self._ring.nodes.remove(node)
            self._killed.append(node)
            return f"kill {label}"
        if event.kind == "leave":
            node.process.send_signal(signal.SIGTERM)
            self._ring.nodes.remove(node)
            self._leaving.append((node, time.monotonic()))
            return f"leave {label}"
        node.process.send_signal(signal.SIGSTOP)
        self._stops[event.node] = self._stops.get(event.node, 0) + 1
        return f"stop {label} for {event.lasts_s:.2f} s"

    def _resume(self, event: Event) -> str:
        node = self._node(event.node)
        self._stops[event.node] -= 1
        if self._stops[event.node] or node.process.poll() is not None:
            return ""
        node.process.send_signal(signal.SIGCONT)
        return f"resume {event.node} at {node.address or 'no address yet'}"

    def _join(self, event: Event) -> str:
        via = [self._nodes[place].address for place in event.via]
        address = self._killed_at if event.again and self._killed_at not in via else ""
        if address:
            self._killed_at = ""
        joiner = self._ring.launch(via, int(address.rpartition(":")[2] or 0))
        self._joiners.append(joiner)
        return f"join {event.node} {f'at {address} again ' if address else ''}via {', '.join(via)}"

    def _node(self, place: int) -> Node:
        return self._nodes[place] if place < len(self._nodes) else self._joiners[place - len(self._nodes)]

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
        self._reap(outcome)
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
        return not self._ledger.under_copied(members, self._settings.replicas)

    def _agrees(self) -> bool:
        """Whether the walk from each live node is the live nodes, with full lists. Raises ProcessFailed."""
        self._ring.look()
        for node in self._ring.nodes:
            if node.process.poll() is not None:
                raise ProcessFailed(f"{node.address} ended by itself: {node.errors.read_text().strip() or 'no word'}")
        if not all(node.ready for node in self._ring.nodes):
            return False
        addresses = self._ring.addresses()
        if not self._is_whole(self._observer.views(addresses[:1])):
            return False
        return self._is_whole(self._observer.views(addresses))

    def _is_whole(self, views: Views) -> bool:
        living = {node.address for node in self._ring.nodes}
        return all(
            not isinstance(view, RingcastError)
            and {each.member.address for each in view} == living
            and is_ideal(view, len(living), self._options.successors)
            for view in views.values()
        )

    def _views(self) -> Views:
        return self._observer.views(self._ring.addresses())

    def _reap(self, outcome: Outcome) -> None:
        """See the killed off; every node that was told to leave has ended with exit code 0. Raises ProcessFailed."""
        for node in self._killed:
            end(node.process)
        self._killed.clear()
        for node, told_at in self._leaving:
            try:
                code = node.process.wait(max(0.0, told_at + LEFT_WITHIN_S - time.monotonic()))
            except TimeoutExpired:
                raise ProcessFailed(f"{node.address} did not leave within {LEFT_WITHIN_S:.0f} s") from None
            said = node.errors.read_text().strip()
            if said:
                outcome.notes.append(said)
            if code != 0 and (node.ready or code != -signal.SIGTERM):  # it may not have heard of SIGTERM yet
                raise ProcessFailed(f"{node.address} left with exit code {code} and said: {said or 'nothing'}")
        self._leaving.clear()


def _said(view: list[Neighbours] | RingcastError) -> str:
    """What a node says of the ring, in a line."""
    if isinstance(view, RingcastError):
        return f"nothing: {view}"
    agree = "views agree" if is_consistent(view) else "views differ"
    return f"{agree}: " + ", ".join(f"{each.member.address} ({len(each.successors)} listed)" for each in view)
