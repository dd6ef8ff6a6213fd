"""A process that stood still, and whose arc others have owned meanwhile, answers for nothing without asking them."""

from __future__ import annotations

import pytest

from sim import checks
from sim.cluster import Client, Cluster

LEASE_S = 3600.0
NAMES = 12


def put(client: Client, via: str, name: str, value: bytes) -> int:
    """Put it until it is acknowledged; returns the version."""
    return client.ask(client.ring([via], 20.0).put(name, "e", value, LEASE_S)).version


def get(client: Client, via: str, name: str) -> tuple[int, bytes]:
    (entry,) = client.ask(client.ring([via], 20.0).get(name))
    return entry.version, entry.value


def owned(cluster: Cluster, address: str) -> list[str]:
    """Names whose keys one process owns."""
    member = cluster.nodes[address].host.members[0]
    names = (f"name {number}" for number in range(10_000))
    return [name for name in names if member.owns(cluster.settings.space.key(name))][:NAMES]


@pytest.mark.parametrize("vnodes", [1, 3])
@pytest.mark.parametrize("stopped_s", [0.9, 1.5, 2.0, 3.0, 6.0, 30.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_process_that_stood_still_knows_what_was_put_meanwhile(seed, stopped_s, vnodes):
    """From its first answer on. Half of its names are put anew while it stands still, and all are asked of it then.

    What is put through it then counts on from there.
    """
    cluster = Cluster(seed, vnodes=vnodes)
    cluster.start_many(4)
    assert cluster.converge(60.0) is not None
    other, *_, stopped = list(cluster.nodes)
    names = owned(cluster, stopped)
    outside, inside = cluster.client("outside"), cluster.client("inside")
    acknowledged = {name: (put(inside, stopped, name, b"before"), b"before") for name in names}

    process = cluster.nodes[stopped].process
    process.pause()
    until = cluster.now + stopped_s
    cluster.scheduler.run_for(stopped_s / 2)
    for name in names[::2]:
        if cluster.now < until:
            acknowledged[name] = put(outside, other, name, b"meanwhile"), b"meanwhile"
    cluster.scheduler.run_for(max(0.0, until - cluster.now))
    process.resume()

    for name, (version, value) in acknowledged.items():
        found = get(inside, stopped, name)
        assert found[1] == value
        assert found[0] >= version  # what was sent again may have been applied twice
    versions = {name: put(inside, stopped, name, b"after") for name in names}
    assert all(version > acknowledged[name][0] for name, version in versions.items())
    assert {name: get(outside, other, name)[1] for name in names} == dict.fromkeys(names, b"after")


@pytest.mark.parametrize("nodes", [1, 2, 5, 24])
def test_all_may_stand_still_at_once(nodes):
    """As on a machine that was suspended: a few seconds later each answers as before, and has no doubts."""
    cluster = Cluster(7, vnodes=2)
    cluster.start_many(nodes)
    assert cluster.converge(60.0) is not None
    client = cluster.client()
    first, *_ = cluster.nodes
    versions = {f"name {number}": put(client, first, f"name {number}", b"v") for number in range(NAMES)}
    for node in cluster.nodes.values():
        node.process.pause()
    cluster.scheduler.run_for(20.0)
    for node in cluster.nodes.values():
        node.process.resume()

    for via in cluster.nodes:
        assert {name: get(client, via, name) for name in versions} == {
            name: (version, b"v") for name, version in versions.items()
        }
    cluster.scheduler.run_for(5.0)
    assert checks.ideal_ring(cluster.members()) == []
    assert not [member for member in cluster.members() if member.reach.doubted]
