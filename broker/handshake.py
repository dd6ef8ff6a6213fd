"""How long a session a ZooKeeper server grants, which kazoo learns and keeps to itself."""

from __future__ import annotations

import socket
from collections.abc import Iterable

from kazoo.protocol.serialization import Close, Connect, int_struct

TIMEOUT_S = 1.0
MAX_REPLY_BYTES = 1024


def granted_session_s(servers: Iterable[tuple[str, int]], session_s: float) -> float | None:
    """What the first of these servers that answers grants to who asks for `session_s`; None if none does."""
    for server in servers:
        try:
            return _ask(server, session_s)
        except OSError:
            continue
    return None


def _ask(server: tuple[str, int], session_s: float) -> float:
    """Open a session and close it. Raises OSError."""
    with socket.create_connection(server, TIMEOUT_S) as connection, connection.makefile("rb") as reply:
        _send(connection, bytes(Connect(0, 0, round(session_s * 1000), 0, bytes(16), False).serialize()))
        length = int_struct.unpack(_exactly(reply.read(4), 4))[0]
        if not 16 <= length <= MAX_REPLY_BYTES:
            raise OSError(f"{server} is no ZooKeeper server: it begins with {length}")
        granted, _ = Connect.deserialize(_exactly(reply.read(length), length), 0)
        _send(connection, int_struct.pack(1) + int_struct.pack(Close.type))
        reply.read(4)
        return float(granted.time_out) / 1000


def _send(connection: socket.socket, body: bytes) -> None:
    connection.sendall(int_struct.pack(len(body)) + body)


def _exactly(data: bytes, length: int) -> bytes:
    if len(data) < length:
        raise OSError("the connection was closed")
    return data
