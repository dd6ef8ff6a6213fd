"""The one place that makes ZeroMQ sockets, so that limits, and later security, are set in one place."""

from __future__ import annotations

import sys

import zmq

from chord.addresses import bare_host, format_address
from chord.errors import LocalProtocolError
from chord.limits import MAX_FRAME_BYTES

SEND_HIGH_WATER = 10_000
RECEIVE_HIGH_WATER = 10_000
HANDSHAKE_MS = 5_000
CONNECT_TIMEOUT_MS = 3_000
RECONNECT_MS = 50
RECONNECT_MAX_MS = 1_000
MAX_SOCKETS = 8_192

# As plain integers: arithmetic on pyzmq's enumerations costs a microsecond each time.
POLLIN = int(zmq.POLLIN)
POLLOUT = int(zmq.POLLOUT)
NOBLOCK = int(zmq.NOBLOCK)
NOBLOCK_MORE = int(zmq.NOBLOCK) | int(zmq.SNDMORE)
RCVMORE = int(zmq.RCVMORE)
EVENTS = int(zmq.EVENTS)

Socket = zmq.Socket[bytes]
Context = zmq.Context[Socket]


def make_context() -> Context:
    """A context of its own for each thread that owns sockets; never shared, never inherited by a fork."""
    context: Context = zmq.Context()
    context.set(zmq.MAX_SOCKETS, MAX_SOCKETS)
    return context


def make_socket(context: Context, kind: int) -> Socket:
    """A socket with every limit set: nothing unbounded, nothing that lingers."""
    made = context.socket(kind)
    made.setsockopt(zmq.LINGER, 0)
    made.setsockopt(zmq.IMMEDIATE, 1)
    made.setsockopt(zmq.IPV6, 1)
    made.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME_BYTES)
    made.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
    made.setsockopt(zmq.CONNECT_TIMEOUT, CONNECT_TIMEOUT_MS)
    made.setsockopt(zmq.RECONNECT_IVL, RECONNECT_MS)
    made.setsockopt(zmq.RECONNECT_IVL_MAX, RECONNECT_MAX_MS)
    made.setsockopt(zmq.SNDHWM, SEND_HIGH_WATER)
    made.setsockopt(zmq.RCVHWM, RECEIVE_HIGH_WATER)
    return made


def bind(bound: Socket, host: str, port: int) -> int:
    """Bind to host and port (0: any free one) and return the port. Raises LocalProtocolError."""
    host = bare_host(host)
    try:
        if port:
            bound.bind(f"tcp://{format_address(host, port)}")
            return port
        return bound.bind_to_random_port(f"tcp://{format_address(host, 0)[:-2]}")
    except zmq.ZMQError as error:
        why = zmq.strerror(error.errno or 0)
        raise LocalProtocolError(f"cannot listen on {format_address(host, port)}: {why}") from None
    except UnicodeError:
        raise LocalProtocolError(f"cannot listen on host {host!r}: it is no host name") from None
    except zmq.ZMQBindError as error:  # pragma: no cover - no free port in the whole range
        raise LocalProtocolError(f"no free port on {host}: {error}") from None


def raise_descriptor_limit() -> None:
    """Let this process open as many descriptors as the system allows it."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
