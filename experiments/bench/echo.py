"""Servers to measure against: a bare ROUTER that answers a fixed payload, and one with the codec but no ring.

    python -m experiments.bench.echo raw REPLY_BYTES
    python -m experiments.bench.echo codec

The first line on stdout is the port. They end with the process that started them.
"""

from __future__ import annotations

import sys

import zmq

from chord import wire
from chord.limits import PROTOCOL_VERSION
from chord.messages import Hop, Pointer, Reply
from chord.sockets import Socket, bind, make_context, make_socket

SNDMORE = int(zmq.SNDMORE)


def serve_raw(router: Socket, reply: bytes) -> None:
    """Answer every message with the same bytes."""
    while True:
        route = router.recv()
        router.recv()
        router.send(route, SNDMORE)
        router.send(reply)


def serve_codec(router: Socket) -> None:
    """Decode every request and encode an answer like that of a ring node, whatever was asked."""
    pointers = tuple(Pointer(2**63 + i, "127.0.0.1:50000", 2**47) for i in range(3))
    while True:
        route = router.recv()
        request = wire.decode_request(router.recv())
        router.send(route, SNDMORE)
        router.send(wire.encode(Reply(PROTOCOL_VERSION, request.call, Hop(pointers[0], False, pointers))))


def main() -> None:
    """Bind a free port, say which, and serve."""
    router = make_socket(make_context(), zmq.ROUTER)
    print(bind(router, "127.0.0.1", 0), flush=True)
    if sys.argv[1] == "raw":
        serve_raw(router, bytes(int(sys.argv[2])))
    else:
        serve_codec(router)


if __name__ == "__main__":
    main()
