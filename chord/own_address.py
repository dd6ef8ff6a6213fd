"""Which addresses lead to this process itself, whatever they are called."""

from __future__ import annotations

import socket as dns

from chord.addresses import WILDCARDS, bare_host, parse_address


def leads_here(address: str, host: str, port: int) -> bool:
    """Whether a process that listens on `host` and `port` of this machine is reached at an address."""
    named, named_port = parse_address(address)
    if named_port != port:
        return False
    if bare_host(host) in WILDCARDS:
        return any(_is_local(number) for number in _numbers(named))
    return bool(_numbers(named) & _numbers(bare_host(host)))


def same_place(one: str, other: str) -> bool:
    """Whether two addresses are the same port of the same machine."""
    host, port = parse_address(other)
    return one == other or leads_here(one, host, port)


def _numbers(host: str) -> set[str]:
    """The IP addresses of a host; none when it has no name that resolves."""
    try:
        return {str(found[4][0]) for found in dns.getaddrinfo(host, None, type=dns.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return set()


def _is_local(number: str) -> bool:
    """Whether an IP address is one of this machine's: only those can be bound."""
    family = dns.AF_INET6 if ":" in number else dns.AF_INET
    with dns.socket(family, dns.SOCK_DGRAM) as probe:
        try:
            probe.bind((number, 0))
        except OSError:
            return False
    return True
