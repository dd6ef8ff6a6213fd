"""Puts and reads of a simulated ring, at all times and through any of its nodes; what was acknowledged has to be read.

Each record has one entry, put under versions counted here, and no version is put again: no refresh saves a record.
"""

from __future__ import annotations

from functools import partial

from chord.errors import RingcastError
from chord.member import Member
from chord.messages import Entry
from chord.settings import Settings
from sim.cluster import Cluster
from sim.network import Link, uniform

LEASE_S = 600.0
PATIENCE_S = 20.0
ASKED_PER_S = 60.0
LINK = Link(uniform(0.001, 0.040))


class Traffic:
    """A ring of `count` nodes with records of its own, and clients that put and read them until `settle`."""

    def __init__(
        self,
        seed: int,
        count: int,
        settings: Settings | None = None,
        vnodes: int = 1,
        names: int = 24,
        link: Link = LINK,
    ) -> None:
        self.seed = seed
        # Repairs that nothing prompts are rare here: it is not them either that save a record.
        self.cluster = Cluster(seed, settings or Settings(repair_s=60.0), link, vnodes)
        self.cluster.start_many(count)
        self.until_calm()
        self.names = [f"record {number}" for number in range(names)]
        self.acknowledged = dict.fromkeys(self.names, 0)
        self.put_at_most = dict.fromkeys(self.names, 0)
        self.faults: list[str] = []
        self.read = self.put = 0
        self._rng = self.cluster.rng("traffic")
        self._clients = [self.cluster.client(f"client {number}") for number in range(3)]
        self._putting: set[str] = set()
        self._reading = 0
        for name in self.names:
            self._put(name)
        assert self.cluster.scheduler.run_until(lambda: not self._putting, PATIENCE_S)
        assert all(self.acknowledged.values()), f"seed {seed}"
        self._asking = True
        self._ask()

    # The ring ------------------------------------------------------------------------------------------------------

    def until_calm(self, at_most_s: float = 90.0) -> None:
        """Wait until the ring is ideal and every member has its records."""
        assert self.cluster.converge(at_most_s) is not None, f"seed {self.seed}: {self.cluster.faults()[:3]}"
        complete = self.cluster.scheduler.run_until(
            lambda: all(member.reach.complete for member in self.members()), 20.0
        )
        assert complete, f"seed {self.seed}: members that lack their records"

    def members(self) -> list[Member]:
        """The members in ring order."""
        return sorted(self.cluster.members(), key=lambda member: member.me.id)

    def owner(self, name: str) -> Member:
        """The member that owns a name when the ring is ideal."""
        key = self.cluster.settings.space.key(name)
        members = self.members()
        return next((member for member in members if member.me.id >= key), members[0])

    def following(self, member: Member, count: int) -> list[Member]:
        """So many members from one on, in ring order."""
        members = self.members()
        place = members.index(member)
        return [members[(place + step) % len(members)] for step in range(count)]

    def holders(self, name: str) -> set[str]:
        """The processes that hold the version of a record that was acknowledged last."""
        return {
            member.me.address
            for member in self.members()
            for entry in [self.held(member, name)]
            if entry is not None and entry.version >= self.acknowledged[name]
        }

    def held(self, member: Member, name: str) -> Entry | None:
        """What one member has of a record itself."""
        return member.store.find(name, "e", self.cluster.now)

    def copied(self) -> bool:
        """Whether every record is held by as many processes as it should be."""
        wanted = min(self.cluster.settings.replicas, len(self.cluster.nodes))
        return all(len(self.holders(name)) >= wanted for name in self.names)

    # Asking --------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Stop asking, let the ring become ideal, read every record through every node, and judge all answers."""
        self._asking = False
        self.until_calm()
        idle = self.cluster.scheduler.run_until(lambda: not self._putting and not self._reading, 2 * PATIENCE_S)
        assert idle, f"seed {self.seed}: a client had no answer"
        for address in self.cluster.nodes:
            for name in self.names:
                self._read(name, [address])
        assert self.cluster.scheduler.run_until(lambda: not self._reading, 2 * PATIENCE_S)
        assert not self.faults, f"seed {self.seed}: " + "; ".join(self.faults[:5])

    def _ask(self) -> None:
        if not self._asking:
            return
        name = self._rng.choice(self.names)
        if self._rng.random() < 0.4 and name not in self._putting:
            self._put(name)
        else:
            self._read(name, self._via())
        self.cluster.scheduler.after(self._rng.expovariate(ASKED_PER_S), self._ask)

    def _via(self) -> list[str]:
        """Some of the nodes that have booted: more than die at once."""
        booted = [address for address, node in self.cluster.nodes.items() if node.booted.done]
        return self._rng.sample(booted, min(4, len(booted)))

    def _put(self, name: str) -> None:
        client = self._rng.choice(self._clients)
        version = self.put_at_most[name] = self.put_at_most[name] + 1
        self._putting.add(name)
        self.put += 1
        operation = client.ring(self._via(), PATIENCE_S).put(name, "e", b"%d" % version, LEASE_S, version=version)
        client.process.start(operation).when_done(partial(self._have_put, name, version))

    def _have_put(self, name: str, version: int, _stored: object, error: RingcastError | None) -> None:
        self._putting.discard(name)
        if error is None:
            self.acknowledged[name] = version

    def _read(self, name: str, via: list[str]) -> None:
        client = self._rng.choice(self._clients)
        self._reading += 1
        self.read += 1
        outcome = client.process.start(client.ring(via, PATIENCE_S).get(name))
        outcome.when_done(partial(self._have_read, name, self.acknowledged[name], self.cluster.now))

    def _have_read(
        self, name: str, at_least: int, asked_at: float, entries: list[Entry] | None, error: RingcastError | None
    ) -> None:
        self._reading -= 1
        if entries is None:
            self.faults.append(f"{name} could not be read from {asked_at:.3f} s on: {error}")
            return
        version = max((entry.version for entry in entries), default=0)
        if not at_least <= version <= self.put_at_most[name]:
            self.faults.append(f"{name}, asked for at {asked_at:.3f} s, was version {version} instead of {at_least}")
