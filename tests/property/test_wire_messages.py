"""The codec: every message survives the wire, and no bytes from it do harm."""

from __future__ import annotations

from contextlib import suppress
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chord import errors, wire
from chord.errors import RemoteProtocolError, RingcastError
from chord.limits import MAX_LIST, MAX_SERVED, MAX_VALUE_BYTES, PROTOCOL_VERSION
from chord.messages import Copy, Entry, Failure, Hop, Pointer, Put, Reply, ReplyBody, Request, RequestBody
from tests.strategies import messages

REQUESTS = get_args(RequestBody)
REPLIES = get_args(ReplyBody)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def by_name(kind: type) -> str:
    return kind.__name__


@pytest.mark.parametrize("kind", REQUESTS, ids=by_name)
@given(data=st.data())
def test_a_request_survives_the_wire(kind, data):
    """Every request is decoded into what was encoded, whatever its fields hold."""
    body = data.draw(messages(kind))
    to = data.draw(st.none() | st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**53)))
    request = Request(PROTOCOL_VERSION, "ringcast", data.draw(st.integers(0, 2**53)), body, to)

    decoded = wire.decode_request(wire.encode(request))

    assert decoded == request
    assert type(decoded.body) is kind


@pytest.mark.parametrize("kind", REPLIES, ids=by_name)
@given(data=st.data())
def test_a_reply_survives_the_wire(kind, data):
    """Every reply is decoded into what was encoded."""
    reply = Reply(PROTOCOL_VERSION, data.draw(st.integers(0, 2**53)), data.draw(messages(kind)))

    decoded = wire.decode_reply(wire.encode(reply))

    assert decoded == reply
    assert type(decoded.body) is kind


def test_each_request_names_its_reply():
    """Request and reply are declared as a pair, and the reply is one that can travel."""
    assert all(kind.reply in REPLIES for kind in REQUESTS)


def harmless(frame: bytes) -> None:
    """Decoding gives a message or RemoteProtocolError, and the call id is always a number that fits."""
    for decode in (wire.decode_request, wire.decode_reply):
        with suppress(RemoteProtocolError):
            decode(frame)
    assert 0 <= wire.call_of(frame) <= 2**53


@given(st.binary(max_size=200))
def test_arbitrary_bytes_do_no_harm(frame):
    """Whatever bytes arrive, decoding raises nothing but RemoteProtocolError."""
    harmless(frame)


@given(values)
def test_arbitrary_values_do_no_harm(value):
    """Well-formed MessagePack of no message's shape is refused in the same way."""
    harmless(msgspec.msgpack.encode(value))


@given(st.sampled_from(REQUESTS), st.data())
def test_a_damaged_message_does_no_harm(kind, data):
    """A message with bytes changed, cut off or added is another message, or refused."""
    frame = bytearray(wire.encode(Request(PROTOCOL_VERSION, "ringcast", 1, data.draw(messages(kind)))))
    for _ in range(data.draw(st.integers(0, 3))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(frame)))

    harmless(bytes(frame[:cut]))
    harmless(bytes(frame) + data.draw(st.binary(max_size=4)))


@pytest.mark.parametrize("opener", [b"\x91", b"\x81\xa1x", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff\xa1x"])
def test_deep_and_huge_containers_do_no_harm(opener):
    """Ten thousand nested containers, and ones that claim four thousand million elements, are refused at once."""
    harmless(opener * 10_000)


MEMBER = Pointer(1, "10.0.0.1:5000", 1)


@pytest.mark.parametrize(
    "body",
    [
        Put("name", "entry", b"x" * (MAX_VALUE_BYTES + 1), 1.0),
        Put("name", "entry", b"x", -1.0),
        Put("name", "", b"x", 1.0),
        Put("", "entry", b"x", 1.0),
        Copy((Entry("name", "entry", 1, b"x" * (MAX_VALUE_BYTES + 1), 1.0),)),
        Copy((Entry("name", "entry", 1, b"x", 1.0, served=((7, 1),) * (MAX_SERVED + 1)),)),
    ],
)
def test_a_request_over_a_limit_is_refused(body):
    """Limits hold for whatever a peer encodes, not only for what this library would."""
    with pytest.raises(RemoteProtocolError, match="unreadable request"):
        wire.decode_request(wire.encode(Request(PROTOCOL_VERSION, "ringcast", 1, body)))


def test_a_list_over_the_limit_is_refused():
    """A reply with more pointers than any list may have is refused."""
    frame = wire.encode(Reply(PROTOCOL_VERSION, 1, Hop(MEMBER, True, (MEMBER,) * (MAX_LIST + 1))))

    with pytest.raises(RemoteProtocolError, match="unreadable reply"):
        wire.decode_reply(frame)


def test_another_protocol_version_is_refused():
    """A request of another version is told which version this process has."""
    frame = wire.encode(Request(PROTOCOL_VERSION + 1, "ringcast", 7, REQUESTS[0]()))

    with pytest.raises(RemoteProtocolError, match="protocol version 2; this process has 1"):
        wire.decode_request(frame)
    assert wire.call_of(frame) == 7


REFUSALS = [errors.Busy, errors.NotMember, errors.StaleVersion, errors.TooLarge, errors.InvalidName, errors.Refused]
FAILURES = [errors.CopiesMissing, errors.LookupFailed]


@pytest.mark.parametrize("kind", [*REFUSALS, *FAILURES], ids=by_name)
def test_an_error_arrives_as_its_own_kind(kind):
    """What a peer raised is raised again at the caller, with its text."""
    raised = wire.raised(wire.failure(kind("some sentence.")))

    assert type(raised) is kind
    assert str(raised) == "some sentence."


def test_not_owner_arrives_with_its_hint():
    """NotOwner carries where to go instead."""
    raised = wire.raised(wire.failure(errors.NotOwner("not mine.", MEMBER)))

    assert isinstance(raised, errors.NotOwner)
    assert raised.hint == MEMBER


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_failure_of_any_kind_is_some_error(kind, text):
    """A failure that names no known error is an error of the peer's all the same."""
    raised = wire.raised(Failure(kind, text))

    assert isinstance(raised, RingcastError)
