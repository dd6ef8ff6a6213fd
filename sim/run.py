"""One run from a seed: nodes join at once, some crash at once, lookups are asked and judged."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from chord.lookup import Walk
from chord.outcome import Outcome
from chord.settings import Settings
from sim import checks
from sim.cluster import Client, Cluster
from sim.latency import Model, latency_of
from sim.network import Link

ANSWERED_WITHIN_S = 60.0
LOOKUPS_PER_S = 100.0


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
        cluster.scheduler.run_until(lambda: all(outcome.done for outcome in asked), ANSWERED_WITHIN_S)
        _judge(cluster, asked, options.lookups, report)
    report.faults = cluster.faults()
    report.messages = cluster.network.sent
    report.events = cluster.scheduler.happened
    report.virtual_s = round(cluster.now, 3)
    return report


def _ask_all(cluster: Cluster, count: int) -> list[Outcome[Walk]]:
    """Have `count` names asked for through random nodes, at random moments from now on; the list fills as they are."""
    client = cluster.client()
    rng = cluster.rng("lookups")
    addresses = list(cluster.nodes)
    asked: list[Outcome[Walk]] = []
    moment = cluster.now
    for number in range(count):
        moment += rng.expovariate(LOOKUPS_PER_S)
        cluster.scheduler.at(moment, partial(_ask, client, f"name-{number}", rng.choice(addresses), asked))
    return asked


def _ask(client: Client, name: str, via: str, asked: list[Outcome[Walk]]) -> None:
    asked.append(client.process.start(client.ring([via]).locate(name)))


def _judge(cluster: Cluster, asked: list[Outcome[Walk]], count: int, report: Report) -> None:
    """Hold every answer against the sorted members."""
    walks = [outcome.value() for outcome in asked if outcome.done and outcome.error is None]
    members = cluster.members()
    report.lookups = count
    report.failed = count - len(walks)
    report.wrong_owners = sum(walk.owner != checks.right_owner(members, walk.key) for walk in walks)
    report.mean_hops = round(sum(walk.hops for walk in walks) / len(walks), 3) if walks else 0.0
    report.half_log2_n = round(math.log2(len(members)) / 2, 3)
    report.timeouts = sum(walk.timeouts for walk in walks)


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
