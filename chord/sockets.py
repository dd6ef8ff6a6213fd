"""The one place that makes ZeroMQ sockets, so that limits, and later security, are set in one place."""

from __future__ import annotations

import socket as dns
import sys

import zmq

from chord.errors import LocalProtocolError
from chord.limits import MAX_FRAME_BYTES
from chord.resolving import names

SEND_HIGH_WATER = 10_000
RECEIVE_HIGH_WATER = 10_000
HANDSHAKE_MS = 5_000
CONNECT_TIMEOUT_MS = 3_000
RECONNECT_MS = 50
RECONNECT_MAX_MS = 1_000
MAX_SOCKETS = 8_192

WILDCARDS = ("0.0.0.0", "::", "*")
"""Hosts that mean every interface when listening, and nothing when connecting."""

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


def bare_host(host: str) -> str:
    """A host without the brackets that an IPv6 address may be written in."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port`, `[ipv6]:port`. Raises LocalProtocolError."""
    if "," in address or " " in address:
        raise LocalProtocolError(
            f"address {address!r} is not HOST:PORT; repeat the option for several, or write spaces in its variable"
        )
    host, colon, port = address.rpartition(":")
    host = bare_host(host)
    if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise LocalProtocolError(f"address {address!r} is not HOST:PORT, such as 127.0.0.1:5000 or [::1]:5000")
    if ":" in host and not address.startswith("["):
        raise LocalProtocolError(f"address {address!r} holds an IPv6 address without brackets; write [{host}]:{port}")
    return host, int(port)


def format_address(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def endpoint(address: str) -> str:
    """The ZeroMQ endpoint to connect to, by number. Raises LocalProtocolError for what cannot be connected to (yet)."""
    host, port = parse_address(address)
    number = names.number(host)
    if number is None:
        raise LocalProtocolError(f"host {host!r} of {address!r} has no known IP address")
    return f"tcp://{format_address(number, port)}"


def check_resolvable(address: str) -> None:
    """Raises LocalProtocolError for an address whose host has no IP address."""
    host, port = parse_address(address)
    try:
        dns.getaddrinfo(host, port, type=dns.SOCK_STREAM)
    except OSError as error:
        raise LocalProtocolError(f"host {host!r} of {address!r} cannot be resolved: {error}") from None
    except UnicodeError:
        raise LocalProtocolError(f"host {host!r} of {address!r} is no host name") from None


def advertised(host: str, port: int, advertise: str | None) -> str:
    """The address that others reach a process at which listens on `host` and `port`.

    `advertise` is HOST[:PORT], for when that differs. Raises LocalProtocolError for a wildcard, and for what cannot be
    resolved.
    """
    host = bare_host(host)
    if not advertise:
        if host in WILDCARDS:
            raise LocalProtocolError(
                f"--host {host} listens everywhere, which is no address that others can reach; add --advertise HOST"
            )
        return format_address(host, port)
    bracketed = advertise.startswith("[") and advertise.endswith("]")
    given = f"{advertise}:{port}" if bracketed or ":" not in advertise else advertise
    check_resolvable(given)
    named, named_port = parse_address(given)
    if named in WILDCARDS:
        raise LocalProtocolError(f"--advertise {advertise} is no address that others can reach; name one")
    return format_address(named, named_port)


def bind(bound: Socket, host: str, port: int) -> int:
    """Bind to host and port (0: any free one) and return the port. Raises LocalProtocolError."""
    host = bare_host(host)
    try:
        if port:
            bound.bind(f"tcp://{format_address(host, port)}")
            return port
        return bound.bind_to_random_port(f"tcp://{format_address(host, 0)[:-2]}")
    except zmq.ZMQError as error:
        raise LocalProtocolError(f"cannot listen on {format_address(host, port)}: {error}") from None
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
