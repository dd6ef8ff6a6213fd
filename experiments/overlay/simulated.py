"""Snapshots of simulated rings: one that is ideal from the start, and one that members of a real ring join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from chord.errors import LocalProtocolError
from chord.settings import Settings
from experiments.overlay.ideal import faults
from experiments.overlay.snapshot import BadSnapshot, Snapshot, commit, member_view
from sim.cluster import Cluster
from sim.ideal import start_ideal
from sim.latency import Model
from sim.network import Link, constant

TWIN_LATENCY_S = 0.001
TWIN_WITHIN_S = 300.0
POLL_S = 0.5


class NotTheSame(LocalProtocolError):
    """A simulated ring that cannot be, or did not become, the ring that it is to be like."""


def take_ideal(
    nodes: int, seed: int, successors: int = Settings().successors, vnodes: int = 1, latency: Model = Model.uniform
) -> Snapshot:
    """The snapshot of an ideal simulated ring. The seed is part of what the identifiers are hashes of.

    `latency` is what the stretch of its lookups is reckoned with; nothing is sent here.
    """
    cluster = Cluster(seed, Settings(cluster=f"ring-{seed}", successors=successors), vnodes=vnodes)
    start_ideal(cluster, nodes, upkeep=False)
    return taken_of(cluster, latency)


def taken_of(cluster: Cluster, latency: Model | None = None) -> Snapshot:
    """The snapshot of a simulated ring as it is, from what its members hold in memory."""
    settings = cluster.settings
    views = [
        member_view(
            settings.space,
            member.me,
            member.state.predecessor,
            member.state.successors,
            {pointer.id for pointer in member.fingers},
        )
        for member in cluster.members()
        if member.active
    ]
    return Snapshot(
        source="sim",
        cluster=settings.cluster,
        bits=settings.space.bits,
        successors=settings.successors,
        taken_us=0,
        commit=commit(),
        seed=cluster.seed,
        latency=latency,
        members=sorted(views, key=lambda view: view.id),
    )


def twin(snapshot: Snapshot, seed: int) -> Cluster:
    """A simulated ring of the very same members, which get to know each other by joining, one process after the other.

    Only addresses, cluster, virtual nodes and the length of the lists are taken from the snapshot: pointers are not.
    Raises NotTheSame when these do not lead to the same identifiers, or the ring does not become ideal.
    """
    counts = Counter(member.address for member in snapshot.members)
    vnodes = max(counts.values())
    if min(counts.values()) != vnodes:
        raise NotTheSame(f"processes have {min(counts.values())} to {vnodes} members; the simulator gives all as many")
    settings = Settings(cluster=snapshot.cluster, successors=snapshot.successors)
    if snapshot.bits != settings.space.bits:
        raise BadSnapshot(f"the simulated twin has identifiers of {settings.space.bits} bits, not {snapshot.bits}")
    cluster = Cluster(seed, settings, Link(constant(TWIN_LATENCY_S)), vnodes)
    first, *others = snapshot.addresses
    cluster.start(first, [])
    for address in others:
        cluster.start(address, [first])
    _require_same(cluster, [member.id for member in snapshot.members])
    if not cluster.scheduler.poll_until(lambda: _is_settled(cluster), TWIN_WITHIN_S, POLL_S):
        wrong = faults(taken_of(cluster)) or cluster.faults()
        raise NotTheSame(f"the simulated ring was not ideal within {TWIN_WITHIN_S:.0f} virtual s: {wrong[0]}")
    return cluster


def _is_settled(cluster: Cluster) -> bool:
    return cluster.has_converged() and not faults(taken_of(cluster))


def _require_same(cluster: Cluster, identifiers: Sequence[str]) -> None:
    ours = {f"{member.me.id:016x}" for member in cluster.members()}
    missing = sorted(set(identifiers) - ours)
    if missing:
        raise NotTheSame(
            f"member {missing[0]} is not what its address hashes to in cluster {cluster.settings.cluster!r}; "
            "give the --cluster that the ring was started with"
        )
