"""What clients ask during a chaos run, writes and reads and lookups, and whether they are answered as promised."""

from __future__ import annotations

from functools import partial

from chord import ring_state
from chord.errors import RingcastError
from chord.host import Host
from chord.lookup import Walk
from chord.messages import Entry
from sim import checks
from sim.cluster import Client
from sim.ledger import Ledger, Place
from sim.plan import CLIENTS, LEASE_S, NAMES, Action
from sim.stage import Broken, Stage, Stuck
from sim.watch import Watch

PATIENCE_S = 15.0
"""How long a client asks for: those whose successors have all died first find that out one by one."""


class Questions:
    """The clients of a run. `pending` counts what they have no outcome of yet."""

    def __init__(self, stage: Stage, watch: Watch) -> None:
        self.clients = [stage.cluster.client(f"client-{number}") for number in range(CLIENTS)]
        self.ledger = Ledger()
        self.pending = 0
        self._stage = stage
        self._watch = watch
        self._patience_s = PATIENCE_S + stage.slow_s
        self._writing: dict[Place, int] = {}
        """The version of each write that has no outcome yet."""

    def put(self, action: Action) -> None:
        """Write an entry, unless it is being written."""
        self._write(action, f"{action.number:x}".encode())

    def delete(self, action: Action) -> None:
        """Delete an entry, unless it is being written."""
        self._write(action, None)

    def get(self, action: Action) -> None:
        """Read a record. Only where no live process is taken for dead, a read in the midst of it misses nothing."""
        client, vias = self._whom(action.number >> 8)
        if vias:
            self._stage.count("get")
            if self._stage.strict:
                self._read(client, f"name-{(action.number >> 4) % NAMES}", vias)

    def lookup(self, action: Action) -> None:
        """Look a name up."""
        client, vias = self._whom(action.number >> 8)
        if not vias:
            return
        name = f"looked-up-{action.number % 997}"
        if self._stage.strict:
            self._watch.begin_lookup(action.number, self._stage.cluster.settings.space.key(name))
        self.pending += 1
        outcome = client.process.start(client.ring(vias, self._patience_s).locate(name))
        outcome.when_done(partial(self._found, action.number, vias))
        self._stage.count("lookup")

    def read_everything(self) -> None:
        """Read every record that was written, through two processes each."""
        vias = list(self._stage.cluster.nodes)
        for turn, name in enumerate(self.ledger.names):
            for via in (vias[turn % len(vias)], vias[(turn + 1) % len(vias)]):
                self._read(self.clients[turn % CLIENTS], name, [via])

    def held(self) -> bool:
        """Whether each acknowledged write, deletions too, is at its owner and those that ought to hold it with it.

        So is one that is being written, once somebody has it: its acknowledgement may be on its way.
        """
        acknowledged = self.ledger.acknowledged_versions()
        ought = [*acknowledged.items(), *self._half_written()]
        return all(self._held(place, version) for place, version in ought)

    def _half_written(self) -> list[tuple[Place, int]]:
        hosts = [node.host for node in self._stage.cluster.nodes.values()]
        return [
            (place, version)
            for place, version in self._writing.items()
            if any(self._version(host, place) >= version for host in hosts)
        ]

    def _held(self, place: Place, version: int) -> bool:
        cluster = self._stage.cluster
        owner = checks.right_owner(cluster.members(), cluster.settings.space.key(place[0]))
        member = next(one for one in cluster.nodes[owner.address].host.members if one.me == owner)
        for pointer in (owner, *ring_state.replicas(member.state, self._stage.plan.replicas)):
            if self._version(cluster.nodes[pointer.address].host, place) < version:
                return False
        return True

    def _version(self, host: Host, place: Place) -> int:
        """The version of an entry that a process holds; 0 if it holds none."""
        entry = host.members[0].store.find(*place, host.kernel.now)
        return 0 if entry is None else entry.version

    def _whom(self, number: int) -> tuple[Client, list[str]]:
        """A client, and the processes on its side that it may ask, in the order in which it does."""
        client = self.clients[number % CLIENTS]
        stage = self._stage
        vias = [address for address in stage.running() if not stage.apart(client.kernel.address, address)]
        turn = (number >> 8) % len(vias) if vias else 0
        joining = [address for address in stage.cluster.nodes if address not in vias] if vias else []
        return client, vias[turn:] + vias[:turn] + joining

    def _write(self, action: Action, value: bytes | None) -> None:
        place = f"name-{(action.number >> 4) % NAMES}", "ab"[action.number & 1]
        client, vias = self._whom(action.number >> 8)
        if not vias or place in self._writing:
            return
        version = self.ledger.write(place, value)
        self._writing[place] = version
        ring = client.ring(vias, self._patience_s)
        operation = ring.delete(*place, version) if value is None else ring.put(*place, value, LEASE_S, version)
        self.pending += 1
        client.process.start(operation).when_done(partial(self._written, place, version))
        self._stage.count("delete" if value is None else "put")

    def _written(self, place: Place, version: int, _result: object, error: RingcastError | None) -> None:
        self.pending -= 1
        del self._writing[place]
        if error is None:
            self.ledger.acknowledge(place, version)

    def _read(self, client: Client, name: str, vias: list[str]) -> None:
        self.pending += 1
        outcome = client.process.start(client.ring(vias, self._patience_s).get(name))
        outcome.when_done(partial(self._have_read, self.ledger.promised(name), name, vias))

    def _have_read(
        self,
        promised: dict[Place, int],
        name: str,
        vias: list[str],
        read: list[Entry] | None,
        error: RingcastError | None,
    ) -> None:
        self.pending -= 1
        if read is None:
            self._unanswered(f"{name} could not be read", vias, error)
            return
        faults = self.ledger.judge(promised, read)
        if faults:
            raise Broken("\n".join([f"read of {name} through {vias[0]}:", *faults]))

    def _found(self, number: int, vias: list[str], walk: Walk | None, error: RingcastError | None) -> None:
        self.pending -= 1
        if not self._stage.strict:
            return
        self._watch.end_lookup(number, walk.owner if walk is not None else None)
        if walk is None:
            self._unanswered("a lookup failed", vias, error)

    def _unanswered(self, what: str, vias: list[str], error: RingcastError | None) -> None:
        """Whoever knew only processes that have all gone cannot be answered."""
        if any(via in self._stage.cluster.nodes for via in vias):
            raise Stuck(f"{what} through {vias[0]}: {error}")
