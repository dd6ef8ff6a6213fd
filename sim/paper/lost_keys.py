"""Keys not found after many nodes failed at once and the ring was mended (SIGCOMM 2001, figure 11).

Ring processes hold records, by themselves or with replicas as Ringcast has them; then some crash. When maintenance has
made the rest an ideal ring, a client asks for every record. Those that are not found have to be exactly those whose
holders have all crashed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING

from chord import ring_state
from chord.amounts import counted
from chord.messages import Entry, Put
from chord.outcome import Outcome
from chord.settings import Settings
from sim.cluster import Client, Cluster
from sim.ideal import start_ideal
from sim.paper.figure import Figure, Measured, Parameters, Result, Table
from sim.paper.published import LOST_KEYS
from sim.paper.series import series
from sim.paper.traced import Traced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NODES, KEYS = 1_000, 2_000
FAILED = (0.05, 0.1, 0.2, 0.3, 0.5)
REPLICAS = (1, 3)
LEASE_S = 86_400.0
MENDED_WITHIN_S = 300.0
ASKED_PER_S = 200.0
ANSWERED_WITHIN_S = 60.0
DEVIATIONS = 3.0
SHOWN = (
    *("replicas", "failed", "not found", "published not found", "holders failed"),
    *("expected", "wrong", "unanswered", "mended s"),
)
NOTES = (
    "replicas: holders of each key; not found, holders failed, expected: shares of the keys",
    "wrong, unanswered: how many of all keys; wrong: found though all holders failed, or the other way round",
)


def cells(quick: bool) -> list[Parameters]:
    """One ring for each number of replicas and share of failed nodes."""
    nodes = 100 if quick else NODES
    return [
        {"nodes": nodes, "keys": 2 * nodes, "replicas": replicas, "failed": failed, "seed": 1}
        for replicas in REPLICAS
        for failed in reversed(FAILED)
    ]


def measure(parameters: Parameters, _traced: Traced) -> Result:
    """How many keys were not found, and of how many all holders had failed; answers that were wrong, or none.

    `mended_s` is how long maintenance took, in virtual seconds; it is None when it did not get there.
    """
    settings = Settings(cluster=f"ring-{parameters['seed']}", replicas=int(parameters["replicas"]))
    cluster = Cluster(int(parameters["seed"]), settings)
    start_ideal(cluster, int(parameters["nodes"]))
    holders = place(cluster, [f"key-{number}" for number in range(int(parameters["keys"]))])
    count = round(float(parameters["failed"]) * len(cluster.nodes))
    for address in cluster.rng("crashes").sample(list(cluster.nodes), count):
        cluster.crash(address)
    mended_s = cluster.converge(MENDED_WITHIN_S)
    asked = _ask_all(cluster, list(holders))
    lost = {name for name, addresses in holders.items() if not any(address in cluster.nodes for address in addresses)}
    answers = {name: outcome.value() for name, outcome in asked.items() if outcome.done and outcome.error is None}
    missing = {name for name, entries in answers.items() if not entries}
    return {
        "failed": count,
        "lost": len(lost),
        "missing": len(missing),
        "wrong": len(missing ^ (lost & answers.keys())),
        "unanswered": len(holders) - len(answers),
        "mended_s": mended_s,
    }


def place(cluster: Cluster, names: list[str]) -> dict[str, list[str]]:
    """Put a record of each name where an ideal ring holds it, at owner and replicas; their addresses by name."""
    members = {member.me: member for member in cluster.members()}
    ring = sorted(members, key=lambda pointer: pointer.id)
    identifiers = [pointer.id for pointer in ring]
    holders: dict[str, list[str]] = {}
    for name in names:
        at = bisect_left(identifiers, cluster.settings.space.key(name)) % len(ring)
        owner = members[ring[at]]
        entry, _ = owner.store.put(Put(name, "entry", name.encode(), LEASE_S), cluster.now)
        copies = ring_state.replicas(owner.state, cluster.settings.replicas)
        for pointer in copies:
            members[pointer].store.merge(entry, cluster.now)
        holders[name] = [owner.me.address, *(pointer.address for pointer in copies)]
    return holders


def _ask_all(cluster: Cluster, names: list[str]) -> dict[str, Outcome[list[Entry]]]:
    """Have a client get every record through some living node, one after the other or side by side."""
    client, rng = cluster.client(), cluster.rng("contacts")
    addresses = list(cluster.nodes)
    asked: dict[str, Outcome[list[Entry]]] = {}
    for number, name in enumerate(names):
        cluster.scheduler.after(number / ASKED_PER_S, partial(_ask, client, name, rng.choice(addresses), asked))
    patience_s = len(names) / ASKED_PER_S + ANSWERED_WITHIN_S
    cluster.scheduler.poll_until(
        lambda: len(asked) == len(names) and all(outcome.done for outcome in asked.values()), patience_s, 0.5
    )
    return asked


def _ask(client: Client, name: str, via: str, asked: dict[str, Outcome[list[Entry]]]) -> None:
    asked[name] = client.process.start(client.ring([via]).get(name))


def deviation(failed: float, nodes: int, keys: int) -> float:
    """Standard deviation of the share of keys whose only holder fails: of the arcs, and of the keys that fall there."""
    return sqrt(failed * (1 - failed) * (2 / nodes + 1 / keys))


def table(measured: Sequence[Measured]) -> Table:
    """A row for each number of replicas and share of failed nodes."""
    rows: list[list[int | float | str | None]] = []
    agrees = []
    for one in sorted(measured, key=lambda one: (int(one.parameters["replicas"]), float(one.parameters["failed"]))):
        nodes, keys, replicas = (int(one.parameters[name]) for name in ("nodes", "keys", "replicas"))
        result = one.result
        failed, missing = result["failed"] / nodes, result["missing"] / keys
        alone = replicas == 1
        rows.append([replicas, nodes, keys, failed, missing, result["lost"] / keys, failed if alone else None])
        rows[-1] += [failed**replicas, result["wrong"], result["unanswered"], result["mended_s"]]
        name = f"{failed:.0%} failed, {counted(replicas, 'holder')}"
        agrees.append((f"{name}: the ring is mended", result["mended_s"] is not None))
        exact = result["wrong"] == result["unanswered"] == 0
        agrees.append((f"{name}: what is not found is exactly what had no other holder", exact))
        if alone:
            close = abs(missing - failed) <= DEVIATIONS * deviation(failed, nodes, keys)
            agrees.append((f"{name}: {LOST_KEYS}, within {DEVIATIONS:.0f} standard deviations", close))
    columns = ["replicas", "nodes", "keys", "failed", "not found", "holders failed", "published not found"]
    return Table([*columns, "expected", "wrong", "unanswered", "mended s"], rows, agrees, SHOWN, notes=NOTES)


def draw(axes: Axes, measured: Sequence[Measured]) -> None:
    """Keys not found against failed nodes, for one holder a key and for three."""
    told = table(measured)
    for replicas, label in zip(
        REPLICAS, ("one holder, as in the paper", "three holders, as Ringcast has them"), strict=True
    ):
        axes.plot(
            *series(told, "failed", "not found", replicas=replicas), "o", fillstyle="none", label=f"ours, {label}"
        )
        shares, expected = series(told, "failed", "expected", replicas=replicas)
        axes.plot(shares, expected, ":", color="grey", label="each holder failed by itself" if replicas > 1 else None)
    axes.plot(*series(told, "failed", "published not found"), "xr", label=f"published: {LOST_KEYS}")
    axes.set_xlabel(f"share of the {measured[0].parameters['nodes']:,} nodes that failed at once")
    axes.set_ylabel("share of the keys that are not found afterwards")
    axes.legend()


FIGURE = Figure(
    "lost-keys",
    "Keys not found after nodes failed at once and the ring was mended",
    "Stoica et al., SIGCOMM 2001, figure 11",
    cells,
    measure,
    table,
    draw,
)
