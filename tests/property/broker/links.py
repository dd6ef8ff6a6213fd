"""Connections between clients and brokers in memory: a queue each way, in order, lost when the connection breaks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

import msgspec

from pubsub.attending import Attending
from pubsub.messages import encode
from pubsub.writer import Writer


class End(Protocol):
    """A process: whether it can be given something, and giving it."""

    name: str
    awake: bool

    def on_request(self, route: bytes, frame: bytes) -> None:
        """Something came to the ROUTER."""

    def on_reply(self, address: str, frame: bytes) -> None:
        """Something came over the connection to an address."""


class Link:
    """One DEALER's connection. It passes nothing on before `held_until`."""

    def __init__(self, client: End, address: str, route: bytes) -> None:
        self.client = client
        self.address = address
        self.route = route
        self.there: deque[bytes] = deque()
        self.back: deque[bytes] = deque()
        self.held_until = 0.0
        self.works_until = 0.0


class Links:
    """All connections, and who listens at which address."""

    def __init__(self) -> None:
        self.servers: dict[str, End] = {}
        self.links: dict[tuple[str, str], Link] = {}
        self._by_route: dict[bytes, Link] = {}
        self._routes = 0

    def say(self, client: End, address: str, message: msgspec.Struct) -> None:
        """A client says something to whoever listens, or will listen, at an address."""
        link = self.links.get((client.name, address))
        if link is None:
            link = self.links[client.name, address] = Link(client, address, self._new_route())
            self._by_route[link.route] = link
        link.there.append(encode(message))

    def tell(self, route: bytes, frame: bytes) -> bool:
        """A server says something; whether there is such a route."""
        link = self._by_route.get(route)
        if link is not None:
            link.back.append(frame)
        return link is not None

    def break_off(self, link: Link) -> None:
        """What is under way is lost, and the client connects anew."""
        del self._by_route[link.route]
        link.there.clear()
        link.back.clear()
        link.route = self._new_route()
        self._by_route[link.route] = link

    def end(self, process: End, address: str) -> None:
        """A process is no more."""
        del self.servers[address]
        for key, link in list(self.links.items()):
            if link.client is process:
                del self.links[key], self._by_route[link.route]
            elif link.address == address:
                self.break_off(link)

    def pass_on(self, link: Link) -> bool:
        """Deliver one message each way, where the receiver is awake; whether there was any."""
        server = self.servers.get(link.address)
        moved = False
        if link.there and server is not None and server.awake:
            server.on_request(link.route, link.there.popleft())
            moved = True
        if link.back and link.client.awake:
            link.client.on_reply(link.address, link.back.popleft())
            moved = True
        return moved

    def _new_route(self) -> bytes:
        self._routes += 1
        return b"%d" % self._routes


class Serving(Attending):  # type: ignore[type-arg]  # of outboxes and of streams
    """Attends to readers over the links."""

    def __init__(self, links: Links, *rest: Callable[..., object]) -> None:
        super().__init__("writer", *rest)  # type: ignore[arg-type]
        self._links = links

    def say(self, route: bytes, message: msgspec.Struct) -> bool:
        """Tell a reader something."""
        return self._links.tell(route, encode(message))

    def fill_windows(self, writer: Writer, now: float) -> None:
        """Send each reader what it has room for, as pubsub/sending.py does."""
        for reader in writer.readers.values():
            for batch in writer.due(reader):
                if not self._links.tell(reader.route, bytes(batch.frame)):
                    reader.detached_at = now
                    break
                reader.sent(batch)
