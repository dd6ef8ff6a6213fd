"""Addresses as people write them, as others are told them, and as ZeroMQ connects to them."""

from __future__ import annotations

import socket as dns

from chord.errors import LocalProtocolError
from chord.resolving import names

WILDCARDS = ("0.0.0.0", "::", "*")
"""Hosts that mean every interface when listening, and nothing when connecting."""


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


def bare_host(host: str) -> str:
    """A host without the brackets that an IPv6 address may be written in."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


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
        raise LocalProtocolError(f"host {host!r} of {address!r} cannot be resolved: {error.strerror}") from None
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
