"""Real and simulated runs execute the same lines of the core."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import coverage

import chord
from chord.settings import Settings
from sim.campaign import judge
from sim.cluster import Cluster, address_of
from sim.network import Link, uniform
from sim.replay import replay
from tests.architecture.sources import read_drivers

CORE = sorted(
    path
    for path in Path(chord.__file__).parent.glob("*.py")
    if f"chord.{path.stem}" not in read_drivers() and path.stem != "recorded"  # which only a replay needs
)
CHAOS_RUNS = 10
LEAST_SHARE = 0.99
"""Of the lines that real nodes executed. Which they are depends on real time, so not every rare one is among ours."""


def lines_of(run: Callable[[], object]) -> set[tuple[str, int]]:
    """The lines of the core that a run executes, each as (module, line); not those of imports that were made before."""
    measured = coverage.Coverage(data_file=None, config_file=False, include=[str(path) for path in CORE])
    with measured.collect():
        run()
    data = measured.get_data()
    return {(Path(file).stem, line) for file in data.measured_files() for line in data.lines(file) or ()}


def replayed(recordings: list[Path]) -> None:
    """Real runs again: a replay executes what the node did, effect for effect."""
    for recording in recordings:
        assert replay(recording).difference is None


def simulated(seed: int, vnodes: int, loss: float) -> None:
    """Joins one by one and at once, writes, reads, walks, a crash, a restart, a split that heals, leaves."""
    link = Link(uniform(0.001, 0.030), loss=loss, duplication=loss)
    cluster = Cluster(seed, Settings(stabilize_s=0.1, repair_s=0.5, fingers_s=1.0, heal_s=0.5), link, vnodes)
    first = cluster.start(address_of(0), [])
    cluster.scheduler.run_until(lambda: first.booted.done, 10.0)
    cluster.start(address_of(1), [address_of(0)])
    cluster.converge(30.0)
    for number in range(2, 6):
        cluster.start(address_of(number), [address_of(0), address_of(1)])
    client = cluster.client()
    via = [address_of(number) for number in range(6)]
    names = [f"name {number}" for number in range(12)]

    def ask(*operations: object) -> None:
        outcomes = [client.process.start(operation) for operation in operations]
        cluster.scheduler.run_until(lambda: all(outcome.done for outcome in outcomes), 20.0)

    ask(*(client.ring(via).put(name, "e", b"v", 60.0, notify=address_of(200)) for name in names))
    ask(*(client.ring(via).put(name, "short", b"v", 0.5) for name in names))
    ask(*(client.ring(via).delete(name, "e") for name in names[:3]))
    ask(client.ring(via).put(names[0], "e", b"old", 60.0, version=1), client.ring(via).members())
    cluster.converge(30.0)
    process = cluster.nodes[address_of(0)].process
    walk = process.start(cluster.nodes[address_of(0)].host.walk())
    cluster.scheduler.run_until(lambda: walk.done, 10.0)
    cluster.crash(address_of(2))
    ask(*(client.ring(via).get(name) for name in names), *(client.ring(via).locate(name) for name in names))
    cluster.restart(address_of(3), [address_of(0)])
    cluster.scheduler.run_for(2.0)
    cluster.network.split(via[:3], via[3:])
    cluster.scheduler.run_for(6.0)
    ask(*(client.ring([each]).put(name, "f", b"v", 60.0) for each in (via[0], via[4]) for name in names))
    cluster.network.mend()
    cluster.converge(30.0)
    for address in list(cluster.nodes)[:0:-1]:
        cluster.leave(address)
        cluster.scheduler.run_for(0.5)


def test_real_nodes_execute_what_simulated_ones_do(recorded):
    """Hardly a line of the core runs in real nodes and in no simulated one."""
    real = lines_of(lambda: replayed(list(recorded.values())))
    virtual = set()
    for seed, vnodes, loss in ((1, 1, 0.0), (2, 2, 0.02), (3, 1, 0.05)):
        virtual |= lines_of(lambda seed=seed, vnodes=vnodes, loss=loss: simulated(seed, vnodes, loss))
    virtual |= lines_of(lambda: [judge(seed) for seed in range(1, CHAOS_RUNS + 1)])

    only_real = sorted(real - virtual)
    assert len(real) > 800
    assert len(only_real) <= (1 - LEAST_SHARE) * len(real), f"{len(only_real)} of {len(real)}: {only_real}"
