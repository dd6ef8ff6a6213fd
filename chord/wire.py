"""The wire: requests and replies as MessagePack frames, decoded with types and limits checked.

Whatever a peer sends, decoding either returns a message or raises RemoteProtocolError.
"""

from __future__ import annotations

from typing import Any

import msgspec

from chord import errors
from chord.errors import RemoteProtocolError
from chord.limits import MAX_ERROR_TEXT, MAX_FRAME_BYTES, PROTOCOL_VERSION
from chord.messages import Failure, Pointer, Reply, Request

encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(Request).decode
_decode_reply = msgspec.msgpack.Decoder(Reply).decode
_decode_call = msgspec.msgpack.Decoder(dict[str, Any]).decode

BAD_INPUT = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError, ValueError)
"""What msgspec raises for bad input: most of it is DecodeError or ValidationError, but not all."""

_KINDS: dict[str, type[errors.RingcastError]] = {
    kind.__name__: kind
    for kind in (
        errors.Busy,
        errors.NotMember,
        errors.StaleVersion,
        errors.TooLarge,
        errors.InvalidName,
        errors.CopiesMissing,
        errors.Refused,
        errors.LookupFailed,
        errors.PeerUnreachable,
        errors.RemoteProtocolError,
        errors.WrongCluster,
    )
}


def decode_request(frame: bytes) -> Request:
    """The request in a frame. Raises RemoteProtocolError."""
    try:
        request = _decode_request(frame)
    except BAD_INPUT as error:
        raise RemoteProtocolError(f"unreadable request of {len(frame)} bytes: {error}") from None
    if request.v != PROTOCOL_VERSION:
        raise RemoteProtocolError(f"the request has protocol version {request.v}; this process has {PROTOCOL_VERSION}")
    return request


def decode_reply(frame: bytes) -> Reply:
    """The reply in a frame. Raises RemoteProtocolError."""
    try:
        reply = _decode_reply(frame)
    except BAD_INPUT as error:
        raise RemoteProtocolError(f"unreadable reply of {len(frame)} bytes: {error}") from None
    if reply.v != PROTOCOL_VERSION:
        raise RemoteProtocolError(f"the reply has protocol version {reply.v}; this process has {PROTOCOL_VERSION}")
    return reply


def call_of(frame: bytes) -> int:
    """The call id of a frame that is no valid request, or 0: its sender may be waiting for an answer."""
    if len(frame) > MAX_FRAME_BYTES:
        return 0
    try:
        call = _decode_call(frame).get("call", 0)
    except BAD_INPUT:
        return 0
    return call if type(call) is int and 0 <= call <= 2**53 else 0


def failure(error: errors.RingcastError) -> Failure:
    """An error as it travels."""
    hint = error.hint if isinstance(error, errors.NotOwner) and isinstance(error.hint, Pointer) else None
    return Failure(type(error).__name__, str(error)[:MAX_ERROR_TEXT], hint)


def raised(reply: Failure) -> errors.RingcastError:
    """The error that a peer reported, as an exception of the same kind."""
    if reply.kind == errors.NotOwner.__name__:
        return errors.NotOwner(reply.text, reply.hint)
    kind = _KINDS.get(reply.kind)
    return kind(reply.text) if kind else RemoteProtocolError(f"{reply.kind}: {reply.text}")
