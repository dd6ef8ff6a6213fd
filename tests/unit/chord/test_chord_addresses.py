"""Addresses: what people write, what others are told, and what is refused in one sentence."""

from __future__ import annotations

import threading

import pytest
import zmq

from chord.addresses import advertised, check_resolvable, endpoint, format_address, parse_address
from chord.errors import LocalProtocolError
from chord.process import NodeOptions, NodeProcess
from chord.resolving import ASKING_AT_ONCE, Names
from chord.sockets import bind, make_context, make_socket
from tests.waiting import eventually


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("127.0.0.1:5000", "127.0.0.1", 5000),
        ("localhost:1", "localhost", 1),
        ("[::1]:65535", "::1", 65535),
        ("[fe80::1%eth0]:5000", "fe80::1%eth0", 5000),
    ],
)
def test_an_address_and_back(address, host, port):
    """host:port, with brackets around an IPv6 address."""
    assert parse_address(address) == (host, port)
    assert format_address(host, port) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        ":",
        "5000",
        "host",
        "host:",
        ":5000",
        "host:0",
        "host:65536",
        "host:-1",
        "host:５",
        "host:5x",
        "[]:5",
    ],
)
def test_what_is_no_address_is_refused(address):
    """With an example of what is."""
    with pytest.raises(LocalProtocolError, match=r"is not HOST:PORT, such as 127\.0\.0\.1:5000 or \[::1\]:5000"):
        parse_address(address)


def test_an_ipv6_address_needs_brackets():
    """The error says what to write."""
    with pytest.raises(LocalProtocolError, match=r"holds an IPv6 address without brackets; write \[::1\]:5000"):
        parse_address("::1:5000")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("no.such.host.invalid:5000", "host 'no.such.host.invalid' of .* cannot be resolved"),
        ("\udcff:5000", "is no host name"),
        ("a" * 64 + ".b:5000", "is no host name|cannot be resolved"),
    ],
)
def test_a_host_that_leads_nowhere_is_named(address, said):
    """Before libzmq, which would tell nobody."""
    with pytest.raises(LocalProtocolError, match=said):
        check_resolvable(address)


@pytest.mark.parametrize(
    ("host", "advertise", "told"),
    [
        ("127.0.0.1", None, "127.0.0.1:7"),
        ("127.0.0.1", "", "127.0.0.1:7"),
        ("::1", None, "[::1]:7"),
        ("0.0.0.0", "127.0.0.2", "127.0.0.2:7"),
        ("::", "[::1]", "[::1]:7"),
        ("127.0.0.1", "localhost:9", "localhost:9"),
        ("127.0.0.1", "[::1]:9", "[::1]:9"),
    ],
)
def test_what_others_are_told(host, advertise, told):
    """The host that is listened on, unless --advertise says another, with its port or the bound one."""
    assert advertised(host, 7, advertise) == told


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "*"])
def test_a_wildcard_needs_an_address_to_advertise(host):
    """Listening everywhere is no address; nor can a wildcard be advertised, with a port or without."""
    with pytest.raises(LocalProtocolError, match="is no address that others can reach; add --advertise HOST"):
        advertised(host, 7, None)
    given = f"[{host}]" if ":" in host else host
    for advertise in (given, f"{given}:9"):
        with pytest.raises(LocalProtocolError, match=r"--advertise|cannot be resolved"):
            advertised("127.0.0.1", 7, advertise)


def test_a_port_is_bound_once():
    """A free one is found; a taken one is an error that names it."""
    context = make_context()
    try:
        first, second = make_socket(context, zmq.ROUTER), make_socket(context, zmq.ROUTER)
        port = bind(first, "127.0.0.1", 0)
        with pytest.raises(LocalProtocolError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            bind(second, "127.0.0.1", port)
    finally:
        context.destroy(linger=0)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "\udcff", "", "192.0.2.1"])
def test_a_host_that_cannot_be_listened_on_is_named(host):
    """Unknown, unwritable, empty, or another machine's."""
    context = make_context()
    try:
        router = make_socket(context, zmq.ROUTER)
        with pytest.raises(LocalProtocolError, match="cannot listen on"):
            bind(router, host, 0)
    finally:
        context.destroy(linger=0)


def test_a_bootstrap_that_leads_nowhere_is_refused_before_anything_is_bound():
    """The first thing that a node checks."""
    with pytest.raises(LocalProtocolError, match="is not HOST:PORT"):
        NodeProcess(NodeOptions(bootstrap=["nowhere"]))


def test_every_socket_has_its_limits():
    """No lingering, no unbounded frames, no queue to peers that are not there."""
    context = make_context()
    try:
        made = make_socket(context, zmq.DEALER)
        assert made.get(zmq.LINGER) == 0
        assert made.get(zmq.IMMEDIATE) == 1
        assert made.get(zmq.MAXMSGSIZE) == 1 << 20
        assert made.get(zmq.IPV6) == 1
        assert 0 < made.get(zmq.HANDSHAKE_IVL) <= 10_000
        assert context.get(zmq.MAX_SOCKETS) >= 4_096
    finally:
        context.destroy(linger=0)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("127.0.0.1:5000", {"tcp://127.0.0.1:5000"}),
        ("[::1]:5000", {"tcp://[::1]:5000"}),
        ("localhost:5000", {"tcp://127.0.0.1:5000", "tcp://[::1]:5000"}),
    ],
)
def test_zeromq_gets_numbers(address, found):
    """It would look a name up in the one thread that moves every message."""
    assert endpoint(address) in found


def test_a_name_that_takes_long_keeps_nobody_waiting():
    """Its number is there when it is asked for later; other names are found meanwhile."""
    answered = threading.Event()

    def resolve(host: str) -> list[str]:
        if host == "slow":
            answered.wait(20.0)
        return ["10.0.0.1", "10.0.0.2"]

    names = Names(resolve)

    assert names.number("slow") is None
    assert names.number("quick") in ("10.0.0.1", "10.0.0.2")
    answered.set()
    eventually(lambda: names.number("slow") is not None)


def test_the_numbers_of_a_name_take_turns():
    """One that is not reached at its first number is tried at the next."""
    names = Names(lambda _host: ["10.0.0.1", "::1"])

    assert [names.number("both") for _ in range(3)] == ["10.0.0.1", "::1", "10.0.0.1"]


def test_many_names_that_nobody_knows_take_few_threads():
    """Those beyond are not even asked for."""
    stopped = threading.Event()
    asked: list[str] = []

    def resolve(host: str) -> list[str]:
        asked.append(host)
        stopped.wait(20.0)
        return []

    names = Names(resolve)

    assert [names.number(f"unlucky{number}") for number in range(30)] == [None] * 30
    assert len(asked) == ASKING_AT_ONCE
    stopped.set()
