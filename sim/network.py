"""A simulated network: frames between addresses, with latency, loss, duplication, splits and clogged links.

It promises less than ZeroMQ over TCP does: frames are lost and duplicated without anybody's noticing, and jitter
reorders them.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from heapq import heappush
from typing import Any

from sim.scheduler import Scheduler

Receive = Callable[[Any, bytes], None]
"""Takes a frame, with the route that an answer takes back, or None for an answer."""

Latency = Callable[[random.Random, str, str], float]
"""Seconds that one frame takes from an address to another."""


def constant(latency_s: float) -> Latency:
    """Every frame takes the same time; nothing is reordered."""
    return lambda _rng, _source, _target: latency_s


def uniform(low_s: float, high_s: float) -> Latency:
    """Every frame draws its own time between two bounds, so that frames overtake each other."""
    span_s = high_s - low_s
    return lambda rng, _source, _target: low_s + span_s * rng.random()


@dataclass(frozen=True, slots=True)
class Link:
    """How frames of one direction between two addresses travel; loss and duplication are probabilities."""

    latency: Latency
    loss: float = 0.0
    duplication: float = 0.0


class Mailbox:
    """Where frames arrive: `receive(route, frame)` is whoever is there by then; `route` is None for a reply."""

    __slots__ = ("receive",)

    def __init__(self, receive: Receive) -> None:
        self.receive = receive


class Endpoint:
    """A process's place on the network, and the route that answers to it take. A restart makes another.

    Requests are received with the route that their answers take, replies with None.
    """

    __slots__ = ("address", "receive_request", "replies")

    def __init__(self, address: str, receive_request: Receive, receive_reply: Receive) -> None:
        self.address = address
        self.receive_request = receive_request
        self.replies = Mailbox(receive_reply)


class Network:
    """Carries frames between endpoints. `lost` counts those that loss and cuts took."""

    def __init__(self, scheduler: Scheduler, rng: random.Random, default: Link) -> None:
        self.default = default
        self._scheduler = scheduler
        self._rng = rng
        self._mailboxes: defaultdict[str, Mailbox] = defaultdict(lambda: Mailbox(self._nobody))
        self._cuts: list[tuple[frozenset[str], frozenset[str]]] = []
        self._clogged: dict[tuple[str, str], list[tuple[Mailbox, Endpoint | None, bytes]]] = {}
        self._posted = self._doubled = self._in_vain = 0
        self.lost = 0

    @property
    def sent(self) -> int:
        """How many frames were sent, lost ones too."""
        return self._posted - self._doubled + self.lost + sum(map(len, self._clogged.values()))

    @property
    def delivered(self) -> int:
        """How many frames reached somebody. Dear: it goes through all that is under way."""
        return self._posted - self._in_vain - sum(type(event[2]) is Mailbox for event in self._scheduler.heap)

    def attach(self, endpoint: Endpoint) -> None:
        """Let an endpoint receive what is sent to its address."""
        mailbox = self._mailboxes[endpoint.address]
        assert mailbox.receive == self._nobody, f"{endpoint.address} is in use"
        mailbox.receive = endpoint.receive_request

    def detach(self, endpoint: Endpoint) -> None:
        """Let nothing arrive at an endpoint any more, what is under way included."""
        self._mailboxes[endpoint.address].receive = endpoint.replies.receive = self._nobody

    def request(self, source: Endpoint, target: str, frame: bytes) -> None:
        """Send a request to whoever is at an address when it arrives."""
        self._send(source.address, target, self._mailboxes[target], source, frame)

    def reply(self, source: Endpoint, route: Endpoint, frame: bytes) -> None:
        """Send a reply along the route that the request came by; one to a former process is lost."""
        self._send(source.address, route.address, route.replies, None, frame)

    def _nobody(self, _route: Endpoint | None, _frame: bytes) -> None:
        self._in_vain += 1

    def _send(self, source: str, target: str, mailbox: Mailbox, route: Endpoint | None, frame: bytes) -> None:
        if self._cuts or self._clogged:
            if self.is_cut(source, target):
                self.lost += 1
                return
            held = self._clogged.get((source, target))
            if held is not None:
                held.append((mailbox, route, frame))
                return
        link = self.default
        rng = self._rng
        if link.loss and rng.random() < link.loss:
            self.lost += 1
            return
        # As _post does: most frames take this way.
        self._posted += 1
        scheduler = self._scheduler
        when = scheduler.now + link.latency(rng, source, target)
        heappush(scheduler.heap, (when, scheduler.next_number(), mailbox, route, frame))
        if link.duplication and rng.random() < link.duplication:
            self._doubled += 1
            self._post(link.latency(rng, source, target), mailbox, route, frame)

    def _post(self, delay_s: float, mailbox: Mailbox, route: Endpoint | None, frame: bytes) -> None:
        self._posted += 1
        scheduler = self._scheduler
        heappush(scheduler.heap, (scheduler.now + delay_s, scheduler.next_number(), mailbox, route, frame))

    # Faults --------------------------------------------------------------------------------------------------------

    def split(self, left: Collection[str], right: Collection[str], one_way: bool = False) -> None:
        """Lose every frame from `left` to `right`, and unless `one_way` from `right` to `left`."""
        self._cuts.append((frozenset(left), frozenset(right)))
        if not one_way:
            self._cuts.append((frozenset(right), frozenset(left)))

    def is_cut(self, source: str, target: str) -> bool:
        """Whether a split lies between two addresses, in this direction."""
        return any(source in left and target in right for left, right in self._cuts)

    def mend(self) -> None:
        """End every split."""
        self._cuts.clear()

    def clog(self, source: str, target: str) -> None:
        """Hold every frame from `source` to `target` until `unclog`."""
        self._clogged.setdefault((source, target), [])

    def unclog(self, source: str, target: str) -> None:
        """Let the frames held arrive now, in order."""
        for held in self._clogged.pop((source, target), []):
            self._post(0.0, *held)
