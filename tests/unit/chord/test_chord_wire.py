"""What travels arrives as it was, errors too; what is no message is an error of its sender."""

from __future__ import annotations

import msgpack
import msgspec
import pytest

from chord import errors, wire
from chord.errors import RemoteProtocolError, RingcastError
from chord.limits import MAX_ENTRY_ID, MAX_ERROR_KIND, MAX_ERROR_TEXT, MAX_LIST, MAX_VALUE_BYTES
from chord.messages import (
    Copy,
    Entry,
    Failure,
    Get,
    Hop,
    Leave,
    Meet,
    Neighbours,
    Notify,
    Owned,
    Ping,
    Pointer,
    Put,
    Reply,
    Request,
)

PEER = Pointer(7, "peer:1", 3)


def request(body) -> bytes:
    return wire.encode(Request(1, "ringcast", 5, body))


@pytest.mark.parametrize(
    "error",
    [
        errors.Busy("b"),
        errors.NotMember("n"),
        errors.NotOwner("o", PEER),
        errors.NotOwner("o"),
        errors.StaleVersion("s"),
        errors.TooLarge("t"),
        errors.PeerUnreachable("p"),
        errors.RemoteProtocolError("r"),
        errors.WrongCluster("w"),
        errors.InvalidName("i"),
        errors.CopiesMissing("c"),
        errors.Refused("r"),
        errors.LookupFailed("f"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_the_trip(error):
    """Its kind, its text and its hint are those that were raised."""
    reply = wire.decode_reply(wire.encode(Reply(1, 5, wire.failure(error))))

    again = wire.raised(reply.body)

    assert type(again) is type(error)
    assert str(again) == str(error)
    assert getattr(again, "hint", None) == getattr(error, "hint", None)


@pytest.mark.parametrize("error", [errors.LocalProtocolError("l"), RingcastError("?")])
def test_other_errors_arrive_as_the_peers(error):
    """What is not the caller's business to tell apart is a RemoteProtocolError that names the kind."""
    again = wire.raised(wire.failure(error))

    assert type(again) is RemoteProtocolError
    assert str(again) == f"{type(error).__name__}: {error}"


def test_a_long_text_is_cut():
    """So that an error fits any frame."""
    assert len(wire.failure(errors.Busy("x" * 10_000)).text) == MAX_ERROR_TEXT


@pytest.mark.parametrize(
    "body",
    [
        {"type": "Failure", "kind": "K" * (MAX_ERROR_KIND + 1), "text": ""},
        {"type": "Failure", "kind": "Busy", "text": "t" * (MAX_ERROR_TEXT + 1)},
    ],
)
def test_an_error_has_its_limits(body):
    """A peer's error is no place for a megabyte of text, which would end up in traces and on screens."""
    with pytest.raises(RemoteProtocolError, match="Expected `str` of length <="):
        wire.decode_reply(msgpack.packb({"v": 1, "call": 5, "body": body}))


def test_a_reply_of_another_version_is_none():
    """As for requests."""
    with pytest.raises(RemoteProtocolError, match="the reply has protocol version 2; this process has 1"):
        wire.decode_reply(msgpack.packb({"v": 2, "call": 5, "body": {"type": "Pong"}}))


@pytest.mark.parametrize("call", [True, False, 5.0, "5", None, -1])
def test_only_a_number_is_a_call(call):
    """Of a frame that is no valid request."""
    assert wire.call_of(msgpack.packb({"call": call})) == 0


def test_a_request_as_a_plain_map():
    """Any language writes it: maps with text keys, a tag named `type`, pointers as arrays."""
    frame = msgpack.packb(
        {"v": 1, "cluster": "ringcast", "call": 5, "to": [7, 3], "body": {"type": "Get", "name": "a"}}
    )

    assert wire.decode_request(frame) == Request(1, "ringcast", 5, Get("a"), (7, 3))
    assert msgpack.unpackb(request(Ping())) == {"v": 1, "cluster": "ringcast", "call": 5, "body": {"type": "Ping"}}
    assert msgpack.unpackb(wire.encode(Hop(PEER, True, (PEER,)))) == {
        "type": "Hop",
        "member": [7, "peer:1", 3],
        "final": True,
        "candidates": [[7, "peer:1", 3]],
    }


def test_what_a_later_version_adds_is_ignored():
    """Unknown fields do no harm."""
    frame = msgpack.packb({"v": 1, "cluster": "c", "call": 5, "new": 1, "body": {"type": "Ping", "new": [1]}})

    assert wire.decode_request(frame).body == Ping()


@pytest.mark.parametrize("version", [0, 2, -1, 2**63])
def test_another_protocol_version_is_refused(version):
    """With both numbers in the text."""
    frame = msgpack.packb({"v": version, "cluster": "c", "call": 5, "body": {"type": "Ping"}})

    with pytest.raises(RemoteProtocolError, match=f"has protocol version {version}; this process has 1"):
        wire.decode_request(frame)


@pytest.mark.parametrize(
    "body",
    [
        Get("n" * 256),
        Get("", "x"),
        Put("a", ""),
        Put("a", "e" * (MAX_ENTRY_ID + 1)),
        Put("a", "e", bytes(MAX_VALUE_BYTES + 1)),
        Put("a", "e", b"", -1.0),
        Put("a", "e", b"", float("nan")),
        Put("a", "e", b"", float("inf")),
        Put("a", "e", b"", 1.0, -1),
        Put("a", "e", b"", 1.0, 2**53 + 1),
        Put("a", "e", b"", 1.0, 1, "x" * 256),
        Copy((Entry("a", "e", 1, b"", 1.0),) * 1_001),
    ],
    ids=lambda body: str(body)[:50],
)
def test_what_exceeds_a_limit_is_unreadable(body):
    """Every size that a peer can choose is checked where it is decoded."""
    with pytest.raises(RemoteProtocolError, match="unreadable request of"):
        wire.decode_request(request(body))


ANYBODY = Pointer(7, "peer:1", 0)
BEYOND = Pointer(7, "peer:1", 2**53 + 1)


@pytest.mark.parametrize("wrong", [ANYBODY, BEYOND, Pointer(7, "peer:1", -1)], ids=lambda wrong: str(wrong.incarnation))
def test_a_pointer_to_no_incarnation_is_unreadable(wrong):
    """Wherever a member is named: as a neighbour, whoever runs at its address would answer for it for ever."""
    for body in (Notify(wrong), Leave(wrong), Meet(wrong)):
        with pytest.raises(RemoteProtocolError, match="unreadable request of"):
            wire.decode_request(request(body))
    for answer in (
        Neighbours(wrong, None, (), True),
        Neighbours(PEER, wrong, (), True),
        Neighbours(PEER, None, (PEER, wrong), True),
        Hop(PEER, True, (wrong,)),
        Owned(wrong),
        Failure("NotOwner", "", wrong),
    ):
        with pytest.raises(RemoteProtocolError, match="unreadable reply of"):
            wire.decode_reply(wire.encode(Reply(1, 5, answer)))


def test_a_list_has_a_limit():
    """Also in replies."""
    frame = wire.encode(Reply(1, 5, Hop(PEER, False, (PEER,) * (MAX_LIST + 1))))

    with pytest.raises(RemoteProtocolError, match="unreadable reply of"):
        wire.decode_reply(frame)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xc1",
        b"\x91" * 300_000,
        b"\xdd\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\xa1\xff",
        b"\x80",
        b"\x00" * 9,
    ],
    ids=lambda frame: frame[:6].hex(),
)
def test_garbage_is_unreadable(frame):
    """Whatever the bytes, decoding raises RemoteProtocolError and nothing else."""
    for decode in (wire.decode_request, wire.decode_reply):
        with pytest.raises(RemoteProtocolError, match=f"of {len(frame)} bytes"):
            decode(frame)
    assert wire.call_of(frame) == 0


@pytest.mark.parametrize(
    ("call", "seen"), [(5, 5), (2**53, 2**53), (2**53 + 1, 0), (-1, 0), ("5", 0), (None, 0), (1.0, 0), ([], 0)]
)
def test_the_call_of_an_unreadable_request(call, seen):
    """Is given back when it is one, so that its sender learns what was wrong."""
    assert wire.call_of(msgpack.packb({"call": call, "body": "?"})) == seen


def test_a_name_of_two_bytes_a_character_is_measured_in_characters_here():
    """The wire bounds characters, so that no decoder allocates much; bytes are counted where the name is normalised."""
    assert wire.decode_request(request(Get("é" * 255))).body == Get("é" * 255)


def test_the_decoder_keeps_nothing_of_a_frame():
    """Values are copies: a frame can be reused."""
    frame = bytearray(request(Put("a", "e", b"value", 1.0)))
    decoded = msgspec.msgpack.Decoder(Request).decode(frame)

    frame[:] = bytes(len(frame))

    assert decoded.body.value == b"value"
