"""What the publish/subscribe benchmarks compare: each starts a publisher and a subscriber, and what is between them.

A subscriber is asked for with a callback, in the thread that reads its socket, or to be iterated over as applications
do; those of the peers always have a callback, which is how they are fastest.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

from broker.processes import ProcessFailed, end, read_line, start
from experiments.bench.nats_server import start_server
from experiments.bench.pubsub_zone import BenchZone

Process = subprocess.Popen[bytes]


class Work(NamedTuple):
    """So many samples of so many bytes; at `rate` per second and each timed, or flat out when that is 0."""

    samples: int
    size: int
    rate: float = 0.0


class Pair(NamedTuple):
    """A publisher that waits for a line, and a subscriber that is there and will say what it got."""

    publisher: Process
    subscriber: Process


System = Callable[[ExitStack, Work], Pair]


def ours_direct(stack: ExitStack, work: Work) -> Pair:
    """Direct dissemination, found through a ring of one node."""
    via = read_line(_start(stack, "chord.cli", "join")).split()[1]
    return _ours(stack, via, "direct", work)


def ours_brokered(replicas: int) -> System:
    """Through the primary of a zone of so many replicas, all of them in sync."""

    def started(stack: ExitStack, work: Work) -> Pair:
        return _ours(stack, BenchZone(stack, replicas).via, "brokered", work)

    return started


def nats(stack: ExitStack, work: Work) -> Pair:
    """Through a NATS server."""
    address = start_server(stack)
    subscriber = _ready(role(stack, "nats-subscriber", address, *_counted(work)))
    return Pair(role(stack, "nats-publisher", address, *map(str, work)), subscriber)


def zenoh_peer(stack: ExitStack, work: Work) -> Pair:
    """Zenoh without anything between."""
    publisher = role(stack, "zenoh-publisher", "peer", *map(str, work))
    subscriber = role(stack, "zenoh-subscriber", read_line(publisher), "peer", *_counted(work))
    return Pair(publisher, _ready(subscriber))


def zenoh_router(stack: ExitStack, work: Work) -> Pair:
    """Through a Zenoh router."""
    endpoint = read_line(role(stack, "zenoh-router"))
    subscriber = _ready(role(stack, "zenoh-subscriber", endpoint, "client", *_counted(work)))
    publisher = role(stack, "zenoh-publisher", endpoint, *map(str, work))
    read_line(publisher)
    return Pair(publisher, subscriber)


SYSTEMS: dict[str, System] = {
    "ours": ours_direct,
    "brokered": ours_brokered(1),
    "brokered-3": ours_brokered(3),
    "nats": nats,
    "zenoh": zenoh_peer,
    "zenoh-router": zenoh_router,
}


def role(stack: ExitStack, name: str, *arguments: str) -> Process:
    """Start a role of experiments/bench/pubsub_roles.py, which ends with `stack`."""
    return _start(stack, "experiments.bench.pubsub_roles", name, *arguments)


def _ours(stack: ExitStack, via: str, dissemination: str, work: Work) -> Pair:
    """The subscriber is registered first, so it is to get the first sample, through whatever lies between."""
    reading = "ours-callback" if work.rate else "ours-subscriber"
    subscriber = _ready(role(stack, reading, via, dissemination, str(work.samples)))
    return Pair(role(stack, "ours-publisher", via, dissemination, *map(str, work)), subscriber)


def _ready(subscriber: Process) -> Process:
    said = read_line(subscriber)
    if said != "ready":
        raise ProcessFailed(f"a subscriber said {said!r}, expected 'ready'")
    return subscriber


def _counted(work: Work) -> list[str]:
    return [str(work.samples), str(work.size), *(["timed"] if work.rate else [])]


def _start(stack: ExitStack, *command: str) -> Process:
    process = start(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stack.callback(end, process)
    return process
