"""One run from a seed: nodes join at once, some crash at once, lookups are asked and judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from chord.lookup import Walk
from chord.member import Member
from chord.outcome import Outcome
from chord.settings import Settings
from sim import checks
from sim.cluster import Client, Cluster
from sim.latency import Model, latency_of
from sim.network import Link

ANSWERED_WITHIN_S = 60.0
LOOKUPS_PER_S = 100.0
TOLD = 10
"""Lookups that went wrong: so many are told one by one."""


class Options(msgspec.Struct, kw_only=True, frozen=True):
    """What is run; the ring has `within_s` virtual seconds to become ideal, and again after crashes."""

    nodes: int = 64
    seed: int = 1
    lookups: int = 1000
    crashes: int = 0
    within_s: float = 120.0
    latency: Model = Model.uniform


class Report(msgspec.Struct, kw_only=True):
    """What came of it. Times are virtual; `messages` are all frames sent.

    `reconverged_s` counts from the crashes; it is None when there were none, or when the ring did not get there.
    `unsafe` are the first lookups that failed or named a wrong owner: which, through whom, when, and why.
    """

    nodes: int
    seed: int
    crashes: int
    converged_s: float | None
    reconverged_s: float | None = None
    lookups: int = 0
    failed: int = 0
    wrong_owners: int = 0
    mean_hops: float = 0.0
    half_log2_n: float = 0.0
    timeouts: int = 0
    messages: int = 0
    events: int = 0
    virtual_s: float = 0.0
    faults: list[str] = []
    unsafe: list[str] = []

    @property
    def converged(self) -> bool:
        """Whether the ring was ideal in the end."""
        return not self.faults

    @property
    def safe(self) -> bool:
        """Whether every lookup was answered, and with the right owner."""
        return not self.wrong_owners and not self.failed


def run(options: Options, keep: Callable[[msgspec.Struct], None]) -> Report:
    """Carry a run out; `keep` receives its trace rows. It stops where the ring fails to become ideal."""
    cluster = Cluster(options.seed, link=Link(latency_of(options.latency, options.seed)), keep=keep)
    cluster.start_many(options.nodes)
    report = Report(
        nodes=options.nodes,
        seed=options.seed,
        crashes=options.crashes,
        converged_s=_rounded(cluster.converge(options.within_s)),
    )
    if report.converged_s is not None:
        for address in cluster.rng("crashes").sample(list(cluster.nodes), options.crashes):
            cluster.crash(address)
        asked = _ask_all(cluster, options.lookups)
        if options.crashes:
            report.reconverged_s = _rounded(cluster.converge(options.within_s))
        cluster.scheduler.run_until(lambda: len(asked) == options.lookups, ANSWERED_WITHIN_S + options.lookups)
        cluster.scheduler.run_until(lambda: all(one.outcome.done for one in asked), ANSWERED_WITHIN_S)
        _judge(cluster, asked, options.lookups, report)
    report.faults = cluster.faults()
    report.messages = cluster.network.sent
    report.events = cluster.scheduler.happened
    report.virtual_s = round(cluster.now, 3)
    return report


@dataclass(frozen=True)
class _Asked:
    """A name that is looked up, and what came of it."""

    name: str
    via: str
    at_s: float
    outcome: Outcome[Walk]

    @property
    def walk(self) -> Walk | None:
        """The way that it took, once it has been answered."""
        return self.outcome.value() if self.outcome.done and self.outcome.error is None else None

    def __str__(self) -> str:
        return f"lookup of {self.name!r} through {self.via} at {self.at_s:.3f} s"


def _ask_all(cluster: Cluster, count: int) -> list[_Asked]:
    """Have `count` names asked for through random nodes, at random moments from now on; the list fills as they are."""
    client = cluster.client()
    rng = cluster.rng("lookups")
    addresses = list(cluster.nodes)
    asked: list[_Asked] = []
    moment = cluster.now
    for number in range(count):
        moment += rng.expovariate(LOOKUPS_PER_S)
        cluster.scheduler.at(moment, partial(_ask, cluster, client, f"name-{number}", rng.choice(addresses), asked))
    return asked


def _ask(cluster: Cluster, client: Client, name: str, via: str, asked: list[_Asked]) -> None:
    asked.append(_Asked(name, via, cluster.now, client.process.start(client.ring([via]).locate(name))))


def _judge(cluster: Cluster, asked: list[_Asked], count: int, report: Report) -> None:
    """Hold every answer against the sorted members."""
    walks = [walk for one in asked if (walk := one.walk) is not None]
    members = cluster.members()
    report.lookups = count
    report.failed = count - len(walks)
    wrong = [why for one in asked if (why := _what_is_wrong(one, members))]
    report.wrong_owners = len(wrong) - sum(one.walk is None for one in asked)
    report.unsafe = wrong[:TOLD]
    report.mean_hops = round(sum(walk.hops for walk in walks) / len(walks), 3) if walks else 0.0
    report.half_log2_n = round(math.log2(len(members)) / 2, 3)
    report.timeouts = sum(walk.timeouts for walk in walks)


def _what_is_wrong(one: _Asked, members: Sequence[Member]) -> str:
    """Why a lookup is not as it has to be, in one sentence; nothing if it is."""
    walk = one.walk
    if walk is None:
        return f"{one} failed: {one.outcome.error if one.outcome.done else 'no answer came'}"
    right = checks.right_owner(members, walk.key)
    if walk.owner == right:
        return ""
    if str(walk.owner) == str(right):
        return f"{one} named {walk.owner}, which joined anew and is another one since"
    return f"{one} named {walk.owner}; the owner is {right}"


def _rounded(time_s: float | None) -> float | None:
    return None if time_s is None else round(time_s, 3)


def describe(options: Options, report: Report, commit: str) -> dict[str, Any]:
    """The content of run.json (experiments/traces/run.py)."""
    settings = Settings()
    return {
        "run": f"sim-{options.nodes}-{options.seed}",
        "source": "sim",
        "cluster": settings.cluster,
        "ring_size": options.nodes,
        "successors": settings.successors,
        "bits": settings.space.bits,
        "commit": commit,
        "started_us": 0,
        "seed": options.seed,
        "crashes": options.crashes,
        "latency": str(options.latency),
        "report": msgspec.to_builtins(report),
    }
