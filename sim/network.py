"""A simulated network: frames between addresses, with latency, loss, duplication, splits and clogged links.

It promises less than ZeroMQ over TCP does: frames are lost and duplicated without anybody's noticing, and jitter
reorders them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from sim.scheduler import Scheduler

Latency = Callable[[random.Random, str, str], float]
"""Seconds that one frame takes from an address to another."""


def constant(latency_s: float) -> Latency:
    """Every frame takes the same time; nothing is reordered."""
    return lambda _rng, _source, _target: latency_s


def uniform(low_s: float, high_s: float) -> Latency:
    """Every frame draws its own time between two bounds, so that frames overtake each other."""
    return lambda rng, _source, _target: rng.uniform(low_s, high_s)


@dataclass(frozen=True, slots=True)
class Link:
    """How frames of one direction between two addresses travel; loss and duplication are probabilities."""

    latency: Latency
    loss: float = 0.0
    duplication: float = 0.0


class Endpoint:
    """A process's place on the network, and the route that answers to it take. A restart makes another."""

    __slots__ = ("_receive_reply", "_receive_request", "address", "attached")

    def __init__(
        self,
        address: str,
        receive_request: Callable[[Endpoint, bytes], None],
        receive_reply: Callable[[bytes], None],
    ) -> None:
        self.address = address
        self.attached = True
        self._receive_request = receive_request
        self._receive_reply = receive_reply

    def deliver(self, route: Endpoint | None, frame: bytes) -> None:
        """Hand a frame over: a request that came by a route, or a reply (route None)."""
        if not self.attached:
            return
        if route is None:
            self._receive_reply(frame)
        else:
            self._receive_request(route, frame)


class Network:
    """Carries frames between endpoints. `sent` counts them, lost ones too; `delivered` those that reached somebody."""

    def __init__(self, scheduler: Scheduler, rng: random.Random, default: Link) -> None:
        self.default = default
        self.links: dict[tuple[str, str], Link] = {}
        self.sent = self.delivered = 0
        self._scheduler = scheduler
        self._rng = rng
        self._endpoints: dict[str, Endpoint] = {}
        self._cuts: list[tuple[frozenset[str], frozenset[str]]] = []
        self._clogged: dict[tuple[str, str], list[Callable[[], None]]] = {}

    def attach(self, endpoint: Endpoint) -> None:
        """Let an endpoint receive what is sent to its address."""
        assert endpoint.address not in self._endpoints, f"{endpoint.address} is in use"
        self._endpoints[endpoint.address] = endpoint

    def detach(self, endpoint: Endpoint) -> None:
        """Let nothing arrive at an endpoint any more, what is under way included."""
        endpoint.attached = False
        del self._endpoints[endpoint.address]

    def request(self, source: Endpoint, target: str, frame: bytes) -> None:
        """Send a request to whoever is at an address when it arrives."""
        self._send(source.address, target, partial(self._arrive, source, target, frame))

    def reply(self, source: Endpoint, route: Endpoint, frame: bytes) -> None:
        """Send a reply along the route that the request came by; one to a former process is lost."""
        self._send(source.address, route.address, partial(self._return, route, frame))

    def _arrive(self, route: Endpoint, target: str, frame: bytes) -> None:
        endpoint = self._endpoints.get(target)
        if endpoint is not None:
            self.delivered += 1
            endpoint.deliver(route, frame)

    def _return(self, route: Endpoint, frame: bytes) -> None:
        self.delivered += route.attached
        route.deliver(None, frame)

    def _send(self, source: str, target: str, arrive: Callable[[], None]) -> None:
        self.sent += 1
        if self.is_cut(source, target):
            return
        held = self._clogged.get((source, target))
        if held is not None:
            held.append(arrive)
            return
        link = self.links.get((source, target), self.default)
        rng = self._rng
        if link.loss and rng.random() < link.loss:
            return
        self._scheduler.after(link.latency(rng, source, target), arrive)
        if link.duplication and rng.random() < link.duplication:
            self._scheduler.after(link.latency(rng, source, target), arrive)

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
        for arrive in self._clogged.pop((source, target), []):
            self._scheduler.after(0.0, arrive)
