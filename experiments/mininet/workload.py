"""The work of a cell: lookups from a client on a host, samples from publishers to subscribers, or both."""

from __future__ import annotations

from typing import Any

import msgspec

from broker.processes import ProcessFailed, write_line
from experiments.mininet.actor import Actor, said
from experiments.mininet.layout import address
from experiments.mininet.network import Network
from experiments.mininet.roles import Asking, Sharing
from experiments.mininet.seats import Seats, topic_of
from experiments.mininet.stage import Stage
from experiments.sweep.cells import Cell
from experiments.traces.run import SubscriberInfo

AFTER_FAULTS = 2.0
"""With faults, lookups go on for this many times as long as it takes until the last one."""


class Workload:
    """The processes of one cell's work on a stage; `begin` once they are `ready`."""

    def __init__(self, cell: Cell, seats: Seats, network: Network, stage: Stage, traces: str) -> None:
        self._cell, self._seats, self._network, self._stage = cell, seats, network, stage
        self._traces = traces
        self.askers: list[Actor] = []
        self.publishers: list[Actor] = []
        self.subscribers: list[Actor] = []

    @property
    def actors(self) -> list[Actor]:
        """All of them."""
        return self.askers + self.publishers + self.subscribers

    def start_subscribers(self) -> None:
        """They come first, so that each gets every sample."""
        for index, host in enumerate(self._seats.subscribers):
            topic = self._topic(index)
            publishers = sum(self._topic(each) == topic for each in range(self._cell.publishers))
            count = publishers * self._cell.samples
            self.subscribers.append(self._share("subscriber", host, index, count))

    def start_others(self) -> None:
        """The publishers and the asker."""
        for index, host in enumerate(self._seats.publishers):
            self.publishers.append(self._share("publisher", host, index, self._cell.samples))
        if self._cell.lookups:
            host = self._seats.nodes[0]
            told = Asking(
                host=address(host),
                via=self._stage.nodes,
                count=self._cell.lookups,
                rate=lookup_rate(self._cell),
                mode=self._cell.mode,
                traces=self._traces,
                seed=self._cell.seed,
            )
            self.askers.append(self._start("asker", host, 0, told))

    def connected(self) -> bool:
        """Whether everyone is ready and each publisher knows of its subscribers: of one of each zone, if brokered."""
        if said(self.actors, "ready") < len(self.actors):
            return False
        for index, publisher in enumerate(self.publishers):
            topic = self._topic(index)
            wanted = sum(self._topic(each) == topic for each in range(self._cell.subscribers))
            if self._cell.dissemination == "brokered":
                wanted = 1
            if int(publisher.heard.get("readers", "0")) < wanted:
                return False
        return True

    def begin(self) -> None:
        """Let the publishers and the asker begin."""
        for actor in self.publishers + self.askers:
            actor.begin()

    def enough(self) -> None:
        """Tell the subscribers that nothing more will come."""
        for subscriber in self.subscribers:
            write_line(subscriber.process)

    def check(self, gone: set[str]) -> None:
        """Raises ProcessFailed when one has failed on a host that was not killed."""
        for actor in self.actors:
            if actor.host not in gone:
                actor.check()

    def progress(self) -> tuple[int, int]:
        """Lookups and deliveries so far, and of how many."""
        done = total = 0
        for actor in self.askers + self.subscribers:
            actor.listen()
            done += int(actor.heard.get("asked") or actor.heard.get("got") or 0)
        total = self._cell.lookups + sum(self.expected(index) for index in range(len(self.subscribers)))
        return done, total

    def expected(self, subscriber: int) -> int:
        """How many samples a subscriber gets if nothing is lost."""
        topic = self._topic(subscriber)
        return self._cell.samples * sum(self._topic(each) == topic for each in range(self._cell.publishers))

    def missing(self) -> str:
        """Who has not got everything; empty if nobody."""
        for index, actor in enumerate(self.subscribers):
            got = int(actor.heard.get("got", "0"))
            if got < self.expected(index):
                return f"{actor.name} on {actor.host} got {got} of {self.expected(index)} samples"
        return ""

    def subscriber_infos(self) -> dict[str, SubscriberInfo]:
        """What run.json says of the subscribers."""
        infos: dict[str, SubscriberInfo] = {}
        for index, actor in enumerate(self.subscribers):
            if "ready" not in actor.heard:
                raise ProcessFailed(f"{actor.name} on {actor.host} never got ready: {actor.complaint()}")
            topic = self._topic(index)
            label = f"{self._cell.dissemination} {actor.host}"
            infos[actor.heard["ready"]] = SubscriberInfo(topics=[topic], from_start=True, label=label)
        return infos

    def subscriber_hosts(self) -> dict[str, str]:
        """The host of each subscriber, by its id."""
        return {actor.heard["ready"]: actor.host for actor in self.subscribers}

    def publisher_ids(self) -> list[dict[str, Any]]:
        """Who published from where: what a capture is matched with."""
        return [
            {"id": actor.heard.get("ready", ""), "host": actor.host, "address": address(actor.host)}
            for actor in self.publishers
        ]

    def close(self) -> None:
        """End all of them."""
        for actor in self.actors:
            actor.kill()

    def _topic(self, index: int) -> str:
        return topic_of(index, self._cell.publishers, self._cell.subscribers)

    def _share(self, role: str, host: str, index: int, count: int) -> Actor:
        told = Sharing(
            host=address(host),
            via=self._stage.via,
            topic=self._topic(index),
            brokered=self._cell.dissemination == "brokered",
            traces=self._traces,
            index=index,
            count=count,
            rate=self._cell.rate,
            payload_bytes=self._cell.payload_bytes,
        )
        return self._start(role, host, index, told)

    def _start(self, role: str, host: str, index: int, told: msgspec.Struct) -> Actor:
        with self._network.inside(host):
            actor = Actor(f"{role}:{index}", host, [role, msgspec.json.encode(told).decode()])
        self._stage.belongs(host, actor.process)
        return actor


def lookup_rate(cell: Cell) -> float:
    """Lookups a second: no limit, or so few that they outlast the faults, as many before the last one as after it."""
    last_s = max((fault.at_s for fault in cell.faults), default=0.0)
    return cell.lookups / (last_s * AFTER_FAULTS) if last_s else 0.0
