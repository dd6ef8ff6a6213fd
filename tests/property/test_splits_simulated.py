"""A ring that the network cuts in two: both halves answer and take writes, and become one ring with all of it."""

from __future__ import annotations

from functools import partial

import pytest

from chord.errors import RingcastError
from chord.messages import Stored
from sim import checks
from sim.cluster import Client, Cluster

SHARED = 40
ROUNDS = 20
ROUND_S = 1.0
TWO_RINGS_WITHIN_S = 40.0
ONE_RING_WITHIN_S = 30.0
COPIED_WITHIN_S = 15.0


class Halves:
    """A ring of which some are cut off from the rest, and what was written to it through a client on either side."""

    def __init__(self, cluster: Cluster, cut_off: int) -> None:
        self.cluster = cluster
        self.rng = cluster.rng("halves")
        addresses = list(cluster.nodes)
        self.rng.shuffle(addresses)
        self.sides = {"left": addresses[:cut_off], "right": addresses[cut_off:]}
        self.clients = {side: cluster.client(side) for side in self.sides}
        self.written = 0
        self.known: dict[str, list[tuple[int, bool, bytes]]] = {}
        self.unknown: dict[str, set[bytes | None]] = {}

    def members(self, side: str):
        return [member for address in self.sides[side] for member in self.cluster.nodes[address].host.members]

    def split(self, one_way: bool = False) -> None:
        """A client is cut off with its side."""
        self.cluster.network.split(["left", *self.sides["left"]], ["right", *self.sides["right"]], one_way)

    def write(self, side: str, name: str, value: bytes | None, patience_s: float = 0.0) -> None:
        """Begin to put a value, or to delete it if that is None.

        Once: of a put that is repeated nobody knows under which versions, and in which half, its value is held.
        """
        client = self.clients[side]
        ring = client.ring(self.rng.sample(self.sides[side], 3), patience_s)
        change = ring.delete(name, "e") if value is None else ring.put(name, "e", value, 3600.0)
        client.process.start(change).when_done(partial(self.wrote, name, value))

    def wrote(self, name: str, value: bytes | None, stored: Stored, error: RingcastError | None) -> None:
        if error is None:
            self.known.setdefault(name, []).append((stored.version, value is None, value or b""))
        else:
            self.unknown.setdefault(name, set()).add(value)

    def write_some(self) -> None:
        """Each side changes a record that both have, or deletes it, and makes a new one."""
        for side in self.sides:
            self.written += 1
            value = None if self.rng.random() < 0.25 else b"%d" % self.written
            self.write(side, f"shared {self.rng.randrange(SHARED)}", value)
            self.write(side, f"{side} {self.written}", b"%d" % self.written)

    def expected(self, name: str) -> bytes | None:
        """The highest version wins, and of equal ones a deletion, then the greater value."""
        _, deleted, value = max(self.known[name])
        return None if deleted else value


def read(client: Client, via: str, name: str) -> bytes | None:
    entries = client.ask(client.ring([via]).get(name))
    return entries[0].value if entries else None


def halved(seed: int, count: int, cut_off: int, vnodes: int = 1) -> Halves:
    cluster = Cluster(seed, vnodes=vnodes)
    cluster.start_many(count)
    assert cluster.converge(60.0) is not None
    halves = Halves(cluster, cut_off)
    for number in range(SHARED):
        halves.write("left", f"shared {number}", b"before", patience_s=8.0)
    cluster.scheduler.run_for(10.0)
    assert len(halves.known) == SHARED
    return halves


def is_whole(halves: Halves, side: str) -> bool:
    members = halves.members(side)
    return not checks.ideal_ring(members)


def everything_is_there(halves: Halves) -> None:
    """Read through nodes of both sides, after the time that the records take to be where they belong."""
    halves.cluster.scheduler.run_for(COPIED_WITHIN_S)
    reader = halves.cluster.client("reader")
    for name in halves.known:
        via = halves.rng.choice(halves.sides["left"] + halves.sides["right"])
        found = read(reader, via, name)
        assert found == halves.expected(name) or found in halves.unknown.get(name, ()), (
            f"seed {halves.cluster.seed}: {name} is {found!r}, not {halves.expected(name)!r} of {halves.known[name]}"
        )


@pytest.mark.parametrize("seed", [1, 2])
def test_64_nodes_split_40_to_24_become_one_ring_with_the_records_of_both(seed):
    """Both halves are rings that answer and take puts and deletions; healed, they are one ring within 30 s.

    Every record of both is kept, of what both changed the higher version, and what was deleted stays deleted.
    """
    halves = halved(seed, 64, 24)
    cluster = halves.cluster

    halves.split()
    assert cluster.scheduler.poll_until(
        lambda: all(is_whole(halves, side) for side in halves.sides), TWO_RINGS_WITHIN_S, 0.5
    )
    for _ in range(ROUNDS):
        halves.write_some()
        cluster.scheduler.run_for(ROUND_S)
    for side, client in halves.clients.items():
        mine = [name for name in halves.known if name.startswith(side)]
        assert len(mine) == ROUNDS
        for name in mine:
            assert read(client, halves.rng.choice(halves.sides[side]), name) == halves.expected(name)
    cluster.network.mend()

    took = cluster.converge(ONE_RING_WITHIN_S)
    assert took is not None, f"seed {seed}: {cluster.faults()[:3]}"
    everything_is_there(halves)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_written_while_a_split_heals_is_kept(seed):
    """Writes go on through both halves until they are one ring, and none that was acknowledged is lost."""
    halves = halved(seed, 24, 10)
    cluster = halves.cluster
    halves.split()
    for _ in range(ROUNDS):
        halves.write_some()
        cluster.scheduler.run_for(ROUND_S)
    cluster.network.mend()

    for _ in range(int(ONE_RING_WITHIN_S)):
        halves.write_some()
        cluster.scheduler.run_for(ROUND_S)
    cluster.scheduler.run_for(10.0)  # writes under way end

    assert cluster.faults() == []
    everything_is_there(halves)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_one_way_split_heals(seed):
    """One half hears the other and is not heard; when that ends there is one ring with every record."""
    halves = halved(seed, 16, 6)
    cluster = halves.cluster
    halves.split(one_way=True)
    for _ in range(ROUNDS):
        halves.write_some()
        cluster.scheduler.run_for(ROUND_S)
    cluster.network.mend()
    cluster.scheduler.run_for(10.0)

    took = cluster.converge(ONE_RING_WITHIN_S)
    assert took is not None, f"seed {seed}: {cluster.faults()[:3]}"
    everything_is_there(halves)


@pytest.mark.parametrize("seed", [1, 2])
def test_virtual_nodes_of_split_processes_become_one_ring(seed):
    """6 processes of 8 virtual nodes split in halves are one ring within 30 s of the mending."""
    halves = halved(seed, 6, 3, vnodes=8)
    cluster = halves.cluster
    halves.split()
    cluster.scheduler.run_for(20.0)
    cluster.network.mend()

    assert cluster.converge(ONE_RING_WITHIN_S) is not None, f"seed {seed}: {cluster.faults()[:3]}"
    everything_is_there(halves)
