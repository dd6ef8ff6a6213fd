"""Sixteen processes of each system of `bench dht-peers`, and those that ask them."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import msgspec

from broker.local_ring import LocalRing
from broker.processes import end, read_line, start, write_line
from chord.client import Mode
from experiments.bench.dht_client import CACHED, HOLDERS
from experiments.bench.dht_report import SLOWEST_S, Answers
from experiments.rings.settle import FINGERS_S, wait_for_full_lists

NODES = 16
KEYS = 64
VALUE = "127.0.0.1:50000".ljust(100, ".")
ASKERS = 4
SETTLED_S = 3.0
"""Nodes of the peers go on getting to know each other for a moment after they have started."""

WARM = 2
"""Times that each asker gets every key before anything is measured: that connects ours to the ring."""

Process = subprocess.Popen[bytes]


class System:
    """A running network. `askers` have got every key; `kill` ends nodes that none of them asks."""

    def __init__(self, askers: list[Process], victims: list[Callable[[], None]]) -> None:
        self.askers = askers
        self._victims = victims
        self.keys = [f"key-{number}" for number in range(KEYS)]
        for asker, number in zip(askers, range(ASKERS), strict=True):
            self._order(asker, {"put": self.keys[number::ASKERS], "value": VALUE})
        for asker in askers:
            self._order(asker, {"value": VALUE, "get": self.keys * WARM, "every_s": 0.0, "until_s": 2 * SLOWEST_S})

    def get(self, asker: Process, keys: list[str]) -> Answers:
        """One asker gets keys, one right after the other."""
        return _answers(self._order(asker, {"get": keys, "every_s": 0.0, "until_s": 2 * SLOWEST_S}))

    def get_at_once(self, rng: random.Random, count: int, every_s: float, until_s: float) -> list[Answers]:
        """All askers get keys drawn by chance, one every so often, until the time is over."""
        for asker in self.askers:
            keys = rng.choices(self.keys, k=count)
            write_line(asker, json.dumps({"get": keys, "every_s": every_s, "until_s": until_s}))
        return [_answers(read_line(asker, until_s + 3 * SLOWEST_S)) for asker in self.askers]

    def kill(self, count: int) -> None:
        """kill -9."""
        for victim in self._victims[:count]:
            victim()

    def _order(self, asker: Process, order: dict[str, object]) -> str:
        write_line(asker, json.dumps(order))
        return read_line(asker, 10 * SLOWEST_S)


def _answers(line: str) -> Answers:
    return msgspec.json.decode(line, type=Answers)


def ringcast(way: str) -> Callable[[ExitStack, random.Random], System]:
    """Nodes of ours, asked by clients outside the ring in one of the ways of experiments/bench/dht_client.py."""

    def started(stack: ExitStack, rng: random.Random) -> System:
        ring = stack.enter_context(LocalRing())
        ring.options += ["--replicas", str(HOLDERS)]
        ring.grow(NODES)
        wait_for_full_lists(ring)
        time.sleep(FINGERS_S)
        shuffled = rng.sample(ring.nodes, NODES)
        askers = [_role(stack, "dht_client", way, node.address) for node in shuffled[:ASKERS]]
        for asker in askers:
            read_line(asker)
        return System(askers, [partial(ring.kill, node) for node in shuffled[ASKERS:]])

    return started


def peer(role: str) -> Callable[[ExitStack, random.Random], System]:
    """Nodes of a peer, of which some are told to ask themselves."""

    def started(stack: ExitStack, rng: random.Random) -> System:
        nodes = [_role(stack, role)]
        first = read_line(nodes[0])
        nodes += [_role(stack, role, first) for _ in range(NODES - 1)]
        for node in nodes[1:]:
            read_line(node)
        time.sleep(SETTLED_S)
        shuffled = rng.sample(nodes, NODES)
        return System(shuffled[:ASKERS], [partial(end, node) for node in shuffled[ASKERS:]])

    return started


SYSTEMS = {
    Mode.ITERATIVE.value: ringcast(Mode.ITERATIVE),
    Mode.RECURSIVE.value: ringcast(Mode.RECURSIVE),
    CACHED: ringcast(CACHED),
    "kademlia": peer("dht_kademlia"),
    "opendht": peer("dht_opendht"),
}
OURS = (Mode.ITERATIVE.value, Mode.RECURSIVE.value, CACHED)
PEERS = ("kademlia", "opendht")


def _role(stack: ExitStack, module: str, *arguments: str) -> Process:
    process = start([f"experiments.bench.{module}", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stack.callback(end, process)
    return process
