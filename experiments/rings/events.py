"""Carries the events of one round out on a ring of processes: joins, kills, leaves, stops."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from functools import partial
from subprocess import TimeoutExpired

from broker.local_ring import LocalRing, Node
from broker.processes import ProcessFailed, end
from experiments.rings.plan import Event

LEFT_WITHIN_S = 10.0

Act = Callable[[], str]
"""Does something, and says what; nothing if there was nothing to do."""


class Events:
    """Those of one round, on a ring of these `nodes` in ring order. `reap` it, or `close` it."""

    def __init__(self, ring: LocalRing, nodes: list[Node]) -> None:
        self._ring = ring
        self._nodes = nodes
        self._joiners: list[Node] = []
        self._killed: list[Node] = []
        self._leaving: list[tuple[Node, float]] = []
        self._stops: dict[int, int] = {}
        self._killed_at = ""

    def agenda(self, events: tuple[Event, ...]) -> list[tuple[float, int, Act]]:
        """What to do: how many seconds into the round, in which order at one instant, and how."""
        acts: list[tuple[float, int, Act]] = []
        for position, event in enumerate(events):
            acts.append((event.at_s, position, partial(self._do, event)))
            if event.kind == "stop":
                acts.append((event.at_s + event.lasts_s, position, partial(self._resume, event)))
        return acts

    def reap(self, note: Callable[[str], None]) -> None:
        """See the killed off; every node that was told to leave has ended with exit code 0. Raises ProcessFailed.

        `note` hears what those who left have said on their standard error.
        """
        for node in self._killed:
            end(node.process)
        self._killed.clear()
        for node, told_at in self._leaving:
            try:
                code = node.process.wait(max(0.0, told_at + LEFT_WITHIN_S - time.monotonic()))
            except TimeoutExpired:
                raise ProcessFailed(f"{node.address} did not leave within {LEFT_WITHIN_S:.0f} s") from None
            said = node.errors.read_text().strip()
            if said:
                note(said)
            if code != 0 and (node.ready or code != -signal.SIGTERM):  # it may not have heard of SIGTERM yet
                raise ProcessFailed(f"{node.address} left with exit code {code} and said: {said or 'nothing'}")
        self._leaving.clear()

    def close(self) -> None:
        """End those that the ring no longer holds."""
        for node in (*self._killed, *(node for node, _ in self._leaving)):
            end(node.process)

    def _do(self, event: Event) -> str:
        if event.kind == "join":
            return self._join(event)
        node = self._node(event.node)
        label = f"{event.node} at {node.address or 'no address yet'}"
        if event.kind == "kill":
            self._killed_at = node.address or self._killed_at
            node.process.kill()
            self._ring.nodes.remove(node)
            self._killed.append(node)
            return f"kill {label}"
        if event.kind == "leave":
            node.process.send_signal(signal.SIGTERM)
            self._ring.nodes.remove(node)
            self._leaving.append((node, time.monotonic()))
            return f"leave {label}"
        node.process.send_signal(signal.SIGSTOP)
        self._stops[event.node] = self._stops.get(event.node, 0) + 1
        return f"stop {label} for {event.lasts_s:.2f} s"

    def _resume(self, event: Event) -> str:
        node = self._node(event.node)
        self._stops[event.node] -= 1
        if self._stops[event.node] or node.process.poll() is not None:
            return ""
        node.process.send_signal(signal.SIGCONT)
        return f"resume {event.node} at {node.address or 'no address yet'}"

    def _join(self, event: Event) -> str:
        via = [self._nodes[place].address for place in event.via]
        address = self._killed_at if event.again and self._killed_at not in via else ""
        if address:
            self._killed_at = ""
        joiner = self._ring.launch(via, int(address.rpartition(":")[2] or 0))
        self._joiners.append(joiner)
        return f"join {event.node} {f'at {address} again ' if address else ''}via {', '.join(via)}"

    def _node(self, place: int) -> Node:
        return self._nodes[place] if place < len(self._nodes) else self._joiners[place - len(self._nodes)]
