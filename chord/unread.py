"""Large replies that their askers have not taken yet: whoever asks on and on and does not read gets no more of them.

ZeroMQ bounds what it keeps for a peer in messages, which may be a few bytes or half a megabyte.
"""

from __future__ import annotations

from collections import deque

import zmq

from chord.limits import MAX_FRAME_BYTES, MAX_UNREAD_BYTES, MAX_UNREADS_BYTES
from chord.sockets import NOBLOCK, NOBLOCK_MORE, Socket

LARGE = 16 * 1024
"""Bytes from which a reply is counted: to hear from ZeroMQ when it has gone costs more than to copy a small one."""


class Unread:
    """The large replies that ZeroMQ holds, by the routing id of the peer that each is for."""

    def __init__(self) -> None:
        self._replies: dict[bytes, deque[tuple[int, zmq.MessageTracker]]] = {}
        self._bytes: dict[bytes, int] = {}
        self.size = 0
        """Bytes of all of them."""

    def send(self, router: Socket, route: list[bytes], frame: bytes) -> None:
        """Send a large reply, or drop it when too many are unread. Raises ZMQError.

        Half of the room for all is for those who read one page after another: whoever only asks leaves it to them.
        """
        peer, size = route[0], len(frame)
        self._drop_gone(peer)
        unread = self._bytes.get(peer, 0)
        if unread + size > MAX_UNREAD_BYTES:
            return
        together = MAX_UNREADS_BYTES // 2 if unread > MAX_FRAME_BYTES else MAX_UNREADS_BYTES
        if self.size + size > together:
            for each in list(self._replies):
                self._drop_gone(each)
            if self.size + size > together:
                return
        for part in route:
            router.send(part, NOBLOCK_MORE)
        tracker = router.send(frame, NOBLOCK, copy=False, track=True)
        self._replies.setdefault(peer, deque()).append((size, tracker))
        self._bytes[peer] = self._bytes.get(peer, 0) + size
        self.size += size

    def _drop_gone(self, peer: bytes) -> None:
        """Forget the replies to a peer that have gone, or that went with its connection."""
        replies = self._replies.get(peer)
        if replies is None:
            return
        while replies and replies[0][1].done:
            size, _ = replies.popleft()
            self._bytes[peer] -= size
            self.size -= size
        if not replies:
            del self._replies[peer], self._bytes[peer]
