"""What is done to the ring during a chaos run. Processes end by a budget, whoever they are and whatever goes on."""

from __future__ import annotations

from collections import Counter
from functools import partial

from sim.cluster import Node, address_of
from sim.plan import LARGEST, Action
from sim.questions import Questions
from sim.stage import POOL, Stage
from sim.watch import Watch

WAIT_S = 0.1
WAITS = 20
"""How often an action that ends a process waits for the ring to have rested, before it is left out."""

LEAVE_WITHIN_S = 4.0

ALONE, RESTLESS = "nobody else alive", "the ring did not rest"
"""Why an action that ends a process is left out."""


class Faults:
    """Carries faults out. `waiting` counts the actions that wait."""

    def __init__(self, stage: Stage, watch: Watch, questions: Questions) -> None:
        self.waiting = 0
        self._stage = stage
        self._cluster = stage.cluster
        self._watch = watch
        self._questions = questions
        self._budget = 0
        self._over = False
        self._waits: Counter[int] = Counter()

    # The budget ----------------------------------------------------------------------------------------------------

    def rested(self) -> bool:
        """Whether the ring is ideal, and each acknowledged write is held by the processes that ought to."""
        if self._stage.sides is not None or not self._stage.settled():
            return False
        return all(member.reach.complete for member in self._cluster.members()) and self._questions.held()

    def refill(self) -> None:
        """From one rest to the next, fewer processes end than a list spans, than hold a record, and than there are."""
        plan = self._stage.plan
        listed = plan.successors if plan.vnodes == 1 else self._cluster.settings.others
        self._budget = min(listed, plan.replicas, len(self._cluster.nodes)) - 1
        self._watch.rest()

    def _spend(self, action: Action) -> list[str]:
        """The processes that an action ends now; it waits for the ring to have rested when the budget is spent.

        Where live processes may be taken for dead, only what the ring has rested on may end: how much else it can bear
        nobody knows.
        """
        if not self._stage.strict:
            self._budget = 0
        if not self._budget and self.rested():
            self.refill()
        others = len(self._stage.staying()) - 1
        if not self._budget:
            if others > 0 and self._waits[action.number] < WAITS:
                self._waits[action.number] += 1
                self.waiting += 1
                self._cluster.scheduler.after(WAIT_S, partial(self._try_again, action))
            else:
                self._stage.leave_out(action.kind, RESTLESS if others > 0 else ALONE)
            return []
        running = self._stage.running()
        count = min(action.times, self._budget, len(running), others)
        self._budget -= count
        if count < 1:
            self._stage.leave_out(action.kind, RESTLESS if others > 0 else ALONE)
        turn = action.number % len(running) if running else 0
        return (running[turn:] + running[:turn])[:count]

    def end(self) -> None:
        """Nothing is done any more, and the network is one again."""
        self._over = True
        self.mend()

    def _try_again(self, action: Action) -> None:
        self.waiting -= 1
        if self._over:
            self._stage.leave_out(action.kind, RESTLESS)
        else:
            {"crash": self.crash, "leave": self.leave, "restart": self.restart}[action.kind](action)

    # Processes -----------------------------------------------------------------------------------------------------

    def join(self, action: Action) -> None:
        """New processes join, all at one moment; none at an address on whose side of a split nobody runs."""
        for turn in range(action.times):
            if len(self._cluster.nodes) >= LARGEST:
                return
            for address in self._stage.free:
                bootstrap = self._bootstrap(address, action.number + turn)
                if bootstrap:
                    self._stage.free.remove(address)
                    self._cluster.start(address, bootstrap)
                    self._stage.count("join")
                    break

    def crash(self, action: Action) -> None:
        """Neighbouring processes end at one moment, without a word."""
        for address in self._spend(action):
            self._cluster.crash(address)
            self._stage.count("crash")

    def leave(self, action: Action) -> None:
        """Neighbouring processes leave at one moment."""
        for address in self._spend(action):
            self._cluster.start_leaving(address, LEAVE_WITHIN_S)
            self._stage.count("leave")

    def restart(self, action: Action) -> None:
        """A process ends, and another one starts under its address."""
        for address in self._spend(action):
            bootstrap = self._bootstrap(address, action.number)
            if bootstrap:
                self._cluster.restart(address, bootstrap)
                self._stage.count("restart")

    def pause(self, action: Action) -> None:
        """A process stands still for a while."""
        node = self._one_of(action.number)
        node.process.pause()
        self._cluster.scheduler.after(action.seconds, partial(self._resume, node))
        self._stage.count("pause")

    def _resume(self, node: Node) -> None:
        if not node.process.crashed:
            node.process.resume()

    def _bootstrap(self, address: str, number: int) -> list[str]:
        """Whom a process may join through: all that run on its side."""
        stage = self._stage
        running = [other for other in stage.running() if other != address and not stage.apart(address, other)]
        turn = number % len(running) if running else 0
        return running[turn:] + running[:turn]

    def _one_of(self, number: int) -> Node:
        nodes = list(self._cluster.nodes.values())
        return nodes[number % len(nodes)]

    # The network ---------------------------------------------------------------------------------------------------

    def clog(self, action: Action) -> None:
        """Nothing arrives from one process at another for a while, and then all of it."""
        source = self._one_of(action.number).host.kernel.address
        target = self._one_of(action.number >> 8).host.kernel.address
        self._cluster.network.clog(source, target)
        self._cluster.scheduler.after(action.seconds, partial(self._cluster.network.unclog, source, target))
        self._stage.count("clog")

    def split(self, action: Action) -> None:
        """The network falls into two for a while, clients and processes to come included."""
        if self._stage.sides is not None:
            return
        rng = self._cluster.rng(f"split/{action.number}")
        clients = (client.kernel.address for client in self._questions.clients)
        everybody = [*map(address_of, range(POOL)), *clients]
        left = frozenset(address for address in everybody if rng.random() < 0.5)
        self._stage.sides = left, frozenset(everybody) - left
        self._cluster.network.split(*self._stage.sides, one_way=action.one_way)
        self._cluster.scheduler.after(action.seconds, self.mend)
        self._stage.count("split")

    def mend(self) -> None:
        """The network is one again."""
        self._cluster.network.mend()
        self._stage.sides = None
