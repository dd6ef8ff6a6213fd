"""One chaos run: a plan carried out on a cluster, judged at every step, healed, and judged once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from typing import Any

import msgspec

from chord import ring_state
from chord.errors import RingcastError
from chord.identifiers import IdentifierSpace
from chord.lookup import Walk
from chord.member import Member
from chord.messages import Entry, Pointer
from chord.ring_state import RingState
from chord.settings import Settings
from chord.trace import EventTrace
from sim import checks, invariants
from sim.cluster import Client, Cluster, Node, address_of
from sim.latency import king
from sim.ledger import Ledger, Place
from sim.network import Link, uniform
from sim.plan import CLIENTS, FAULTS, LONG_S, NAMES, Action, Kind, Plan

LARGEST = 10
"""Processes at one time."""

POOL = 40
"""Addresses that a run may use."""

BEGIN_WITHIN_S = 60.0
HEAL_WITHIN_S = {"stop": 30.0, "rough": 60.0, "split": 120.0}
ANSWER_WITHIN_S = 30.0
STAY_S = 1.0
POLL_S = 0.1
COMES_BACK = 20
"""How often an action that ends a process waits POLL_S for the ring to have rested, before it is left out."""

LEAVE_WITHIN_S = 4.0
PATIENCE_S = 15.0
"""How long a client asks for: those whose successors have all died first find that out one by one."""

LEAST_DELIVERIES = 200
LEAST_FAULTS = 5


class Broken(Exception):
    """Something happened that must never happen."""


class Stuck(Exception):
    """Something that has to happen did not within its time."""


class Verdict(msgspec.Struct, kw_only=True):
    """What came of a run. `verdict`: ok, unsafe, or stuck; `findings` say why. Times are virtual seconds."""

    seed: int
    style: str
    start: int
    verdict: str = "ok"
    findings: list[str] = []
    deliveries: int = 0
    faults: dict[str, int] = {}
    asked: dict[str, int] = {}
    acknowledged: int = 0
    checks: int = 0
    healed_s: float | None = None
    virtual_s: float = 0.0


class Chaos:
    """Carries out one plan. `keep` receives the trace rows."""

    def __init__(self, plan: Plan, keep: Callable[[msgspec.Struct], None] = lambda _row: None) -> None:
        self.plan = plan
        self.verdict = Verdict(seed=plan.seed, style=plan.style, start=plan.start)
        self._keep = keep
        self._strict = plan.style == "stop"
        settings = Settings(
            successors=plan.successors,
            failures=min(2, plan.successors - 1),
            replicas=plan.replicas,
            stabilize_s=plan.stabilize_s,
            repair_s=plan.repair_s,
            heal_s=1.0,
            space=IdentifierSpace(plan.bits),
        )
        latency = king(plan.seed) if plan.king else uniform(*plan.latency_s)
        self._calm = Link(latency)
        self._raging = Link(latency, plan.loss, plan.duplication)
        self.cluster = Cluster(plan.seed, settings, self._calm, plan.vnodes, self._row, plan.drift)
        self._rng = self.cluster.rng("chaos")
        self._free = iter(self._distinct())
        self._clients = [self.cluster.client(f"client-{number}") for number in range(CLIENTS)]
        self._ledger = Ledger()
        self._writing: set[Place] = set()
        self._budget = 0
        self._sides: tuple[frozenset[str], frozenset[str]] | None = None
        self._splits = 0
        self._asking = 0
        self._waiting = 0
        self._tries: Counter[int] = Counter()
        self._watched: dict[int, tuple[int, set[Pointer]]] = {}
        self._principals = invariants.Principals()
        self._comings = 0
        self._members: list[Member] = []
        self._seen: tuple[list[RingState], list[bool]] = [], []
        self._do: dict[Kind, Callable[[Action], None]] = {
            "join": self._join,
            "crash": self._crash,
            "leave": self._leave,
            "restart": self._restart,
            "pause": self._pause,
            "clog": self._clog,
            "split": self._split,
            "put": self._put,
            "delete": self._delete,
            "get": self._get,
            "lookup": self._lookup,
        }

    def run(self) -> Verdict:
        """Carry the plan out to its end, or to the first thing that is wrong."""
        verdict = self.verdict
        try:
            self._begin()
            self._rage()
            self._heal()
            self._judge()
        except Broken as broken:
            verdict.verdict = "unsafe"
            verdict.findings = str(broken).split("\n")
        except Stuck as stuck:
            verdict.verdict = "stuck"
            verdict.findings = str(stuck).split("\n")
        except (AssertionError, LookupError, TypeError, ValueError, AttributeError) as error:
            verdict.verdict = "unsafe"
            verdict.findings = [f"{type(error).__name__}: {error}"]
        verdict.deliveries = self.cluster.network.delivered
        verdict.acknowledged = self._ledger.acknowledged
        verdict.virtual_s = round(self.cluster.now, 3)
        return verdict

    def describe(self, commit: str) -> dict[str, Any]:
        """The content of run.json (experiments/traces/run.py)."""
        settings = self.cluster.settings
        return {
            "run": f"chaos-{self.plan.seed}",
            "source": "sim",
            "cluster": settings.cluster,
            "ring_size": self.plan.start,
            "successors": settings.successors,
            "bits": settings.space.bits,
            "commit": commit,
            "started_us": 0,
            "seed": self.plan.seed,
            "verdict": msgspec.to_builtins(self.verdict),
        }

    # The course ----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        first = next(self._free)
        self.cluster.start(first, [])
        for _ in range(self.plan.start - 1):
            if not self.plan.together:
                self._until(self._rested, BEGIN_WITHIN_S, "the ring did not take a node in")
            self.cluster.start(next(self._free), [first])
        self._until(self._rested, BEGIN_WITHIN_S, "the ring did not become ideal")
        self._refill()

    def _rage(self) -> None:
        self.cluster.network.default = self._raging
        began = self.cluster.now
        for action in self.plan.actions:
            self.cluster.scheduler.at(began + action.at, partial(self._perform, action))
        last = self.plan.actions[-1].at if self.plan.actions else 0.0
        self._run_for(last + 0.1)
        self._run_for(POLL_S * COMES_BACK if self._waiting else 0.0)
        while self.plan.least and sum(self.verdict.faults.values()) < LEAST_FAULTS:
            kind: Kind = "join" if len(self.cluster.nodes) < LARGEST else "restart"
            self._perform(Action(at=0.0, kind=kind, number=self._rng.getrandbits(30)))
            self._run_for(0.2)

    def _heal(self) -> None:
        cluster = self.cluster
        cluster.network.mend()
        self._sides = None
        cluster.network.default = self._calm
        for node in list(cluster.nodes.values()):
            node.process.resume()
        began = cluster.now
        healed = self._settled if self._strict else self._rested  # rings that meet give their records back after that
        self._until(healed, HEAL_WITHIN_S[self.plan.style], "the ring did not become ideal again")
        self.verdict.healed_s = round(cluster.now - began, 3)
        self._until(lambda: not self._asking, ANSWER_WITHIN_S, "a client had no outcome")
        while self.plan.least and cluster.network.delivered < LEAST_DELIVERIES:
            self._perform(Action(at=0.0, kind="lookup", number=self._rng.getrandbits(30)))
            self._run_for(POLL_S)

    def _judge(self) -> None:
        """The ring stays as it is; every lookup names the owner; every record is there."""
        cluster = self.cluster
        before = self._neighbours()
        self._run_for(STAY_S)
        changed = [
            f"an ideal ring changed though nothing happened: {was} is now {is_}"
            for was, is_ in zip_longest(before, self._neighbours())
            if was != is_
        ]
        if changed:
            raise Broken("\n".join(changed))
        if self._strict and cluster.refused:
            raise Stuck("\n".join(f"{address} could not join: {error}" for address, error in cluster.refused.items()))
        vias = list(cluster.nodes)
        for turn, name in enumerate(self._ledger.names):
            client = self._clients[turn % CLIENTS]
            for via in (vias[turn % len(vias)], vias[(turn + 1) % len(vias)]):
                self._read(client, name, [via])
        self._until(lambda: not self._asking, ANSWER_WITHIN_S, "a client had no outcome")

    def _neighbours(self) -> list[tuple[Pointer | None, tuple[Pointer, ...]]]:
        return [(member.state.predecessor, member.state.successors) for member in self.cluster.members()]

    # Time ----------------------------------------------------------------------------------------------------------

    def _run_for(self, duration_s: float) -> None:
        self.cluster.scheduler.run_until(self._looked_at, duration_s)

    def _until(self, done: Callable[[], bool], at_most_s: float, otherwise: str) -> None:
        end = self.cluster.now + at_most_s
        while not done():
            if self.cluster.now >= end:
                raise Stuck("\n".join([f"{otherwise} within {at_most_s:.0f} s", *self._why()]))
            self._run_for(POLL_S)

    def _why(self) -> list[str]:
        booting = [f"{address} has not booted" for address, node in self.cluster.nodes.items() if not node.booted.done]
        return booting + self.cluster.faults()[:8]

    # Judging each step ---------------------------------------------------------------------------------------------

    def _looked_at(self) -> bool:
        """Judge the ring if the last event changed it. What the scheduler asks after each event; never done."""
        cluster = self.cluster
        if cluster.comings != self._comings:
            self._comings = cluster.comings
            self._members = cluster.members()
        members = self._members
        # Its field, not its property: this runs at every event.
        seen = [member._state for member in members], [member.active for member in members]
        if seen == self._seen:
            return False
        self._seen = seen
        self.verdict.checks += 1
        if self._strict:
            found = invariants.broken(members) or self._principals.lost(members)
            for key, named in self._watched.values():
                named.update(self._owners(key))
        else:
            found = [fault for member in members if member.active for fault in invariants.list_faults(member.state)]
        if found:
            raise Broken("\n".join(found))
        return False

    def _owners(self, key: int) -> list[Pointer]:
        """Who may be named as the owner of a key: the first member from it on that the ring knows, and those before."""
        members = [member for member in self.cluster.members() if member.active]
        known = invariants.principals(members)
        mask = self.cluster.settings.space.size - 1
        found: list[Pointer] = []
        for member in sorted(members, key=lambda one: (one.me.id - key) & mask):
            found.append(member.me)
            if member.me in known:
                break
        return found

    def _row(self, row: msgspec.Struct) -> None:
        if self._strict and type(row) is EventTrace and row.kind == "rejoining":
            raise Broken(f"{row.address} joins anew though the ring never fell apart")
        self._keep(row)

    def _settled(self) -> bool:
        return len(self._staying()) == len(self.cluster.nodes) and self.cluster.has_converged()

    # Budgets -------------------------------------------------------------------------------------------------------

    def _rested(self) -> bool:
        """Whether the ring is ideal, and each record that surely exists is held by the processes that ought to."""
        cluster = self.cluster
        if self._splits or not self._settled():
            return False
        members = cluster.members()
        if not all(member.complete for member in members):
            return False
        return all(self._held(place, version) for place, version in self._ledger.living().items())

    def _held(self, place: Place, version: int) -> bool:
        """Whether the owner of an entry, and those that come after it, hold it."""
        owner = checks.right_owner(self.cluster.members(), self.cluster.settings.space.key(place[0]))
        member = next(one for one in self.cluster.nodes[owner.address].host.members if one.me == owner)
        holders = [owner, *ring_state.replicas(member.state, self.plan.replicas)]
        for pointer in holders:
            host = self.cluster.nodes[pointer.address].host
            entry = host.members[0].store.find(*place, host.kernel.now)
            if entry is None or entry.version < version:
                return False
        return True

    def _refill(self) -> None:
        """From one rest to the next, fewer processes end than a list spans, than hold a record, and than there are."""
        plan = self.plan
        listed = plan.successors if plan.vnodes == 1 else self.cluster.settings.others
        self._budget = min(listed, plan.replicas, len(self.cluster.nodes)) - 1
        self._principals.rest_on(self.cluster.members())

    def _spend(self, action: Action) -> list[str]:
        """The processes that an action ends now; it comes back once the ring has rested when the budget is spent.

        Where live processes may be taken for dead, only what the ring has rested on may end: how much else it can bear
        nobody knows.
        """
        if not self._strict:
            self._budget = 0
        if not self._budget and self._rested():
            self._refill()
        if not self._budget:
            if len(self._staying()) > 1:
                self._come_back(action)
            return []
        running = self._running()
        count = min(action.times, self._budget, len(running), len(self._staying()) - 1)
        self._budget -= count
        turn = action.number % len(running) if running else 0
        return (running[turn:] + running[:turn])[:count]

    def _come_back(self, action: Action) -> None:
        """Try again a little later, for a while: most rings have rested by then."""
        if self._tries[action.number] == COMES_BACK:
            return
        self._tries[action.number] += 1
        self._waiting += 1
        self.cluster.scheduler.after(POLL_S, partial(self._come_again, action))

    def _come_again(self, action: Action) -> None:
        self._waiting -= 1
        self._perform(action)

    def _staying(self) -> list[str]:
        return [address for address, node in self.cluster.nodes.items() if not node.leaving]

    def _running(self) -> list[str]:
        """The processes that have booted and stay, in ring order, so that neighbours fail together."""
        space = self.cluster.settings.space
        return sorted(
            (address for address in self._staying() if self.cluster.nodes[address].booted.done),
            key=lambda address: space.member(self.cluster.settings.cluster, address),
        )

    # Faults --------------------------------------------------------------------------------------------------------

    def _perform(self, action: Action) -> None:
        self._do[action.kind](action)

    def _count(self, kind: Kind, times: int = 1) -> None:
        counts = self.verdict.faults if kind in FAULTS else self.verdict.asked
        counts[kind] = counts.get(kind, 0) + times

    def _join(self, action: Action) -> None:
        for turn in range(action.times):
            address = next(self._free, None)
            if address is None or len(self.cluster.nodes) >= LARGEST:
                return
            bootstrap = self._bootstrap(address, action.number + turn)
            if not bootstrap:
                return
            self.cluster.start(address, bootstrap)
            self._count("join")

    def _bootstrap(self, address: str, number: int) -> list[str]:
        """Whom a process may join through: all that run on its side."""
        running = [other for other in self._running() if other != address and not self._apart(address, other)]
        turn = number % len(running) if running else 0
        return running[turn:] + running[:turn]

    def _crash(self, action: Action) -> None:
        for address in self._spend(action):
            self.cluster.crash(address)
            self._count("crash")

    def _leave(self, action: Action) -> None:
        for address in self._spend(action):
            self.cluster.start_leaving(address, LEAVE_WITHIN_S)
            self._count("leave")

    def _restart(self, action: Action) -> None:
        for address in self._spend(action):
            bootstrap = self._bootstrap(address, action.number)
            if bootstrap:
                self.cluster.restart(address, bootstrap)
                self._count("restart")

    def _pause(self, action: Action) -> None:
        node = self._one_of(action.number)
        node.process.pause()
        self.cluster.scheduler.after(action.seconds, partial(self._resume, node))
        self._count("pause")

    def _resume(self, node: Node) -> None:
        if not node.process.crashed:
            node.process.resume()

    def _one_of(self, number: int) -> Node:
        nodes = list(self.cluster.nodes.values())
        return nodes[number % len(nodes)]

    def _clog(self, action: Action) -> None:
        source = self._one_of(action.number).host.kernel.address
        target = self._one_of(action.number >> 8).host.kernel.address
        self.cluster.network.clog(source, target)
        self.cluster.scheduler.after(action.seconds, partial(self.cluster.network.unclog, source, target))
        self._count("clog")

    def _split(self, action: Action) -> None:
        if self._splits:
            return
        rng = self.cluster.rng(f"split/{action.number}")
        everybody = [*map(address_of, range(POOL)), *(client.kernel.address for client in self._clients)]
        left = frozenset(address for address in everybody if rng.random() < 0.5)
        self._sides = left, frozenset(everybody) - left
        self._splits += 1
        self.cluster.network.split(*self._sides, one_way=action.one_way)
        self.cluster.scheduler.after(action.seconds, self._mend)
        self._count("split")

    def _mend(self) -> None:
        self.cluster.network.mend()
        self._sides = None
        self._splits = 0

    def _apart(self, one: str, other: str) -> bool:
        return self._sides is not None and (one in self._sides[0]) != (other in self._sides[0])

    # Asking --------------------------------------------------------------------------------------------------------

    def _whom(self, number: int) -> tuple[Client, list[str]]:
        """A client, and the processes on its side that it may ask, in the order in which it does."""
        client = self._clients[number % CLIENTS]
        vias = [address for address in self._running() if not self._apart(client.kernel.address, address)]
        turn = (number >> 8) % len(vias) if vias else 0
        joining = [address for address in self.cluster.nodes if address not in vias] if vias else []
        return client, vias[turn:] + vias[:turn] + joining

    def _write(self, action: Action, deletes: bool) -> None:
        place = f"name-{(action.number >> 4) % NAMES}", "ab"[action.number & 1]
        client, vias = self._whom(action.number >> 8)
        if not vias or place in self._writing:
            return
        value = None if deletes else f"{action.number:x}".encode()
        version = self._ledger.write(place, value)
        self._writing.add(place)
        ring = client.ring(vias, PATIENCE_S)
        if deletes:
            operation = ring.delete(*place, version)
        else:
            operation = ring.put(*place, value or b"", LONG_S, version)
        self._asking += 1
        client.process.start(operation).when_done(partial(self._written, place, version))
        self._count("delete" if deletes else "put")

    def _written(self, place: Place, version: int, _result: object, error: RingcastError | None) -> None:
        self._asking -= 1
        self._writing.discard(place)
        if error is None:
            self._ledger.acknowledge(place, version)

    def _put(self, action: Action) -> None:
        self._write(action, deletes=False)

    def _delete(self, action: Action) -> None:
        self._write(action, deletes=True)

    def _get(self, action: Action) -> None:
        client, vias = self._whom(action.number >> 8)
        if not vias:
            return
        name = f"name-{(action.number >> 4) % NAMES}"
        self._count("get")
        if self._strict:
            self._read(client, name, vias)

    def _read(self, client: Client, name: str, vias: list[str]) -> None:
        self._asking += 1
        outcome = client.process.start(client.ring(vias, PATIENCE_S).get(name))
        outcome.when_done(partial(self._have_read, self._ledger.promised(name), name, vias))

    def _have_read(
        self,
        promised: dict[Place, int],
        name: str,
        vias: list[str],
        read: list[Entry] | None,
        error: RingcastError | None,
    ) -> None:
        self._asking -= 1
        if read is None:
            self._unanswered(f"{name} could not be read", vias, error)
            return
        faults = self._ledger.judge(promised, read)
        if faults:
            raise Broken("\n".join([f"read of {name} through {vias[0]}:", *faults]))

    def _lookup(self, action: Action) -> None:
        client, vias = self._whom(action.number >> 8)
        if not vias:
            return
        name = f"looked-up-{action.number % 997}"
        key = self.cluster.settings.space.key(name)
        if self._strict:
            self._watched[action.number] = key, set(self._owners(key))
        self._asking += 1
        outcome = client.process.start(client.ring(vias, PATIENCE_S).locate(name))
        outcome.when_done(partial(self._found, action.number, vias))
        self._count("lookup")

    def _unanswered(self, what: str, vias: list[str], error: RingcastError | None) -> None:
        """Whoever knew only processes that have all gone cannot be answered."""
        if any(via in self.cluster.nodes for via in vias):
            raise Stuck(f"{what} through {vias[0]}: {error}")

    def _found(self, number: int, vias: list[str], walk: Walk | None, error: RingcastError | None) -> None:
        self._asking -= 1
        watched = self._watched.pop(number, None)
        if watched is None:
            return
        if walk is None:
            self._unanswered("a lookup failed", vias, error)
            return
        if walk.owner not in watched[1]:
            named = ", ".join(str(pointer) for pointer in watched[1])
            raise Broken(f"lookup of {watched[0]:x} through {vias[0]} named {walk.owner}, not one of {named}")

    def _distinct(self) -> list[str]:
        """Addresses none of whose identifiers is another's."""
        settings = self.cluster.settings
        taken: set[int] = set()
        found = []
        for number in range(POOL):
            address = address_of(number)
            mine = {settings.space.member(settings.cluster, address, index) for index in range(self.plan.vnodes)}
            if not mine & taken:
                taken |= mine
                found.append(address)
        return found
