"""`bench lookup`: a lookup over real processes against as many bare round trips."""

from __future__ import annotations

import random
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import zmq

from chord import wire
from chord.client import RingClient
from chord.identifiers import IdentifierSpace, between_right
from chord.limits import PROTOCOL_VERSION
from chord.lookup import Walk
from chord.messages import Hop, NextHop, Neighbours, Pointer, Reply, Request
from chord.sockets import Socket, make_context, make_socket
from experiments.measurement import Figure, figure
from experiments.processes import LocalRing, start

NODES = 16
LOOKUPS = 1_000
COLUMN_B_16 = 1.37
"""Mean hops at N = 16 with the successor list among the candidates (table 1c of the reference simulation)."""

SETTLE_S = 20.0


def bench_lookup(runs: int, progress: Callable[[str], None]) -> list[Figure]:
    """p50 of a lookup's exchanges, in microseconds, beside the same number of raw round trips; then of the codec alone.

    Each run asks `LOOKUPS` names that the node asked does not own; the reference repeats their numbers of exchanges.
    """
    ours: list[float] = []
    raw: list[float] = []
    codec: list[float] = []
    hops: list[int] = []
    rng = random.Random(1)
    with ExitStack() as stack:
        ring = stack.enter_context(LocalRing())
        progress(f"starting {NODES} ring nodes and {2 * NODES} echo processes")
        ring.grow(NODES)
        client = stack.enter_context(RingClient(ring.addresses()[:1]))
        names = _names(_settled(client), ring.addresses()[0], runs * LOOKUPS)
        raw_sockets = stack.enter_context(_echo(["raw", str(_reply_bytes())]))
        codec_sockets = stack.enter_context(_echo(["codec"]))
        for run in range(runs):
            progress(f"lookup: run {run + 1} of {runs}")
            walks = [client.lookup(next(names)) for _ in range(LOOKUPS)]
            lengths = [len(walk.path) for walk in walks]
            hops += [walk.hops for walk in walks]
            ours.append(statistics.median(_named_us(walk) for walk in walks))
            raw.append(_chains_us(lengths, lambda: _raw_exchange(rng.choice(raw_sockets))))
            codec.append(_chains_us(lengths, lambda: _codec_exchange(rng.choice(codec_sockets))))
    mean_hops = statistics.fmean(hops)
    note = {"hops": round(mean_hops, 3), "hops_column_b": COLUMN_B_16, "lookups": len(hops)}
    return [
        figure("lookup", codec, raw, "as many raw round trips; ours = codec without a ring", "us", note),
        figure("lookup", ours, raw, "as many raw DEALER/ROUTER round trips", "us", note),
    ]


def _settled(client: RingClient) -> list[Neighbours]:
    """The ring, once all its lists are full."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        views = client.members()
        if len(views) == NODES and all(len(view.successors) == 8 for view in views):
            break
        if time.monotonic() > deadline:
            raise TimeoutError(f"the ring had {len(views)} of {NODES} members with full lists after {SETTLE_S:.0f} s")
        time.sleep(0.1)
    time.sleep(3.0)  # the finger tables fill within a few refreshes; there is no request that tells
    return views


def _names(views: list[Neighbours], asked: str, count: int) -> Iterator[str]:
    """Names that the node asked does not own."""
    me = next(view for view in views if view.member.address == asked)
    assert me.predecessor is not None
    space = IdentifierSpace()
    every = (f"bench/{number}" for number in range(4 * count))
    return (name for name in every if not between_right(me.predecessor.id, space.key(name), me.member.id))


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
    processes = [start(["experiments.echo", *arguments], stdout=subprocess.PIPE) for _ in range(NODES)]
    context = make_context()
    sockets = []
    try:
        for process in processes:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            socket = make_socket(context, zmq.DEALER)
            socket.connect(f"tcp://127.0.0.1:{port}")
            _raw_exchange(socket)
            sockets.append(socket)
        yield sockets
    finally:
        context.destroy(linger=0)
        for process in processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
