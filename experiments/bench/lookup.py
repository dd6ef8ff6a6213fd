"""`bench lookup`: a lookup over real processes against as many bare round trips."""

from __future__ import annotations

import random
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import zmq

from broker.local_ring import LocalRing
from broker.processes import end, read_line, start
from chord import wire
from chord.client import RingClient
from chord.identifiers import IdentifierSpace, between_right
from chord.limits import PROTOCOL_VERSION
from chord.lookup import Walk
from chord.messages import Hop, Neighbours, NextHop, Pointer, Reply, Request
from chord.sockets import Socket, make_context, make_socket
from experiments.bench.measurement import Figure, Progress, figure
from experiments.rings.settle import FINGERS_S, wait_for_full_lists

NODES = 16
LOOKUPS = 1_600
WARM = 60
"""Lookups through each node that are not counted: they connect the client to the others."""
COLUMN_B_16 = 1.37
"""Mean hops at N = 16 with the successor list among the candidates (table 1c of the reference simulation)."""


def bench(runs: int, progress: Progress) -> list[Figure]:
    """p50 of a lookup's exchanges, in microseconds, beside as many raw round trips; before it, of the codec alone.

    Each run starts a ring of its own, for hops vary from ring to ring, and asks random names that the node asked does
    not own; the reference repeats their numbers of exchanges. No client caches owners.
    """
    ours: list[float] = []
    raw: list[float] = []
    codec: list[float] = []
    hops: list[int] = []
    rng = random.Random(1)
    with ExitStack() as stack:
        progress(f"starting {2 * NODES} echo processes")
        raw_sockets = stack.enter_context(_echo(["raw", str(_reply_bytes())]))
        codec_sockets = stack.enter_context(_echo(["codec"]))
        for run in range(runs):
            progress(f"lookup: run {run + 1} of {runs}, on a new ring of {NODES}")
            with LocalRing() as ring:
                ring.grow(NODES)
                views = wait_for_full_lists(ring)
                time.sleep(FINGERS_S)
                walks = _ask(views, rng)
                lengths = [len(walk.path) for walk in walks]
                hops += [walk.hops for walk in walks]
                ours.append(statistics.median(_named_us(walk) for walk in walks))
                raw.append(_chains_us(lengths, lambda: _raw_exchange(rng.choice(raw_sockets))))
                codec.append(_chains_us(lengths, lambda: _codec_exchange(rng.choice(codec_sockets))))
    mean_hops = statistics.fmean(hops)
    note = {
        "hops": round(mean_hops, 3),
        "hops_column_b": COLUMN_B_16,
        "hops_off": round(mean_hops / COLUMN_B_16 - 1, 3),
        "lookups": len(hops),
    }
    return [
        figure("lookup", codec, raw, "as many raw round trips; ours = the codec without a ring", "us", note),
        figure("lookup", ours, raw, "as many raw DEALER/ROUTER round trips", "us", note),
    ]


def _ask(views: list[Neighbours], rng: random.Random) -> list[Walk]:
    """Lookups through each node in turn."""
    walks = []
    for view in views:
        with RingClient([view.member.address]) as client:
            names = names_elsewhere(view, rng)
            for _ in range(WARM):
                client.lookup(next(names))
            walks += [client.lookup(next(names)) for _ in range(LOOKUPS // len(views))]
    return walks


def names_elsewhere(view: Neighbours, rng: random.Random) -> Iterator[str]:
    """Random names that a member does not own."""
    assert view.predecessor is not None
    space = IdentifierSpace()
    while True:
        name = f"bench/{rng.getrandbits(48):x}"
        if not between_right(view.predecessor.id, space.key(name), view.member.id):
            yield name


def _named_us(walk: Walk) -> float:
    return (walk.named_at - walk.started_at) * 1e6


def _reply_bytes() -> int:
    pointer = Pointer(2**63, "127.0.0.1:50000", 2**47)
    return len(wire.encode(Reply(PROTOCOL_VERSION, 2**31, Hop(pointer, False, (pointer,) * 3))))


def _request() -> bytes:
    return wire.encode(Request(PROTOCOL_VERSION, "ringcast", 2**31, NextHop(2**63), (2**63, 2**47)))


def _raw_exchange(socket: Socket, request: bytes = _request()) -> None:
    socket.send(request)
    socket.recv()


def _codec_exchange(socket: Socket) -> None:
    socket.send(_request())
    wire.decode_reply(socket.recv())


def _chains_us(lengths: list[int], exchange: Callable[[], None]) -> float:
    """The median time of chains of exchanges of the given lengths."""
    took = []
    for length in lengths:
        started = time.perf_counter()
        for _ in range(length):
            exchange()
        took.append((time.perf_counter() - started) * 1e6)
    return statistics.median(took)


@contextmanager
def _echo(arguments: list[str]) -> Iterator[list[Socket]]:
    """A connected DEALER to each of 16 echo processes."""
    processes = [start(["experiments.bench.echo", *arguments], stdout=subprocess.PIPE) for _ in range(NODES)]
    context = make_context()
    sockets = []
    try:
        for process in processes:
            socket = make_socket(context, zmq.DEALER)
            socket.connect(f"tcp://127.0.0.1:{read_line(process)}")
            _raw_exchange(socket)
            sockets.append(socket)
        yield sockets
    finally:
        context.destroy(linger=0)
        for process in processes:
            end(process)
