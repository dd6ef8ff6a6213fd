"""Real rings for tests: what is right, computed apart from the code under test, and how to ask the real thing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import mmh3

from broker.local_ring import LocalRing, Node
from chord.client import RingClient
from tests.waiting import eventually

ALL_IN_ORDER_S = 30.0


def hash64(data: bytes) -> int:
    """The first eight bytes of MurmurHash3 x64 128 with seed 0, read as a little-endian number."""
    return int.from_bytes(mmh3.mmh3_x64_128_digest(data, 0)[:8], "little")


def member_id(address: str, index: int = 0, cluster: str = "ringcast") -> int:
    """The identifier of a virtual node, from its address alone."""
    return hash64(f"{cluster}/{address}/{index}".encode())


def first_at_or_after(identifiers: list[int], key: int) -> int:
    """The owner of a key: the first identifier at or after it on the circle."""
    ordered = sorted(identifiers)
    position = bisect_left(ordered, key)
    return ordered[position] if position < len(ordered) else ordered[0]


@dataclass
class Finished:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


def dht(*arguments: str | bytes, via: str | None = None, timeout_s: float = 60.0) -> Finished:
    """Run `dht` to its end; `via` is handed over in RINGCAST_VIA."""
    return run(["-m", "chord.cli", *arguments], via, timeout_s)


def run(arguments: list[str | bytes], via: str | None = None, timeout_s: float = 60.0) -> Finished:
    """Run this Python with arguments to the end of it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RINGCAST_")}
    environment["NO_COLOR"] = "1"
    environment["COLUMNS"] = "120"
    if via is not None:
        environment["RINGCAST_VIA"] = via
    done = subprocess.run(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment,
        timeout=timeout_s,
        check=False,
    )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


def view_through(address: str) -> tuple[bool, list[str]]:
    """What `dht ring --json` says through one node: whether the views fit together, and the addresses in ring order."""
    done = dht("ring", "--json", "--via", address, "--patience", "1")
    if not done.out:
        return False, [done.err.strip()]
    seen: dict[str, Any] = json.loads(done.out)
    return seen["consistent"], [member["address"] for member in seen["members"]]


def all_agree(ring: LocalRing, vnodes: int = 1, timeout_s: float = ALL_IN_ORDER_S) -> None:
    """Wait until the ring, seen through every node of it, is all its nodes in the order of their identifiers."""
    for address in ring.addresses():
        agrees(address, ring.addresses(), vnodes, timeout_s)


def agrees(address: str, addresses: list[str], vnodes: int = 1, timeout_s: float = ALL_IN_ORDER_S) -> None:
    """Wait until the members seen through a node are those of `addresses`, each with the right neighbours and list."""
    expected = sorted(member_id(each, index) for each in addresses for index in range(vnodes))

    with RingClient([address], patience_s=timeout_s) as client:

        def as_it_should_be() -> bool:
            views = client.members()
            first = min(range(len(views)), key=lambda position: views[position].member.id)
            turned = views[first:] + views[:first]
            if [view.member.id for view in turned] != expected:
                return False
            for position, view in enumerate(turned):
                following = [turned[(position + step) % len(turned)].member for step in range(1, len(turned))]
                if list(view.successors) != following[: len(view.successors)]:
                    return False
                if len(view.successors) < min(8, len(following)) or view.whole != (
                    len(view.successors) == len(following)
                ):
                    return False
                if view.predecessor != (following[-1] if following else None):
                    return False
            return True

        eventually(as_it_should_be, timeout_s, f"an ideal ring of {len(expected)} through {address}")


def owners_are_right(through: str, addresses: list[str], names: list[str], vnodes: int = 1) -> None:
    """Every name is looked up through one node; each owner is the first member at or after the name's hash."""
    members = {member_id(address, index): address for address in addresses for index in range(vnodes)}
    with RingClient([through], patience_s=20.0) as client:
        for name in names:
            key = hash64(name.encode())
            owner = first_at_or_after(list(members), key)
            walk = client.lookup(name)
            assert walk.owner is not None
            assert (walk.key, walk.owner.id, walk.owner.address) == (key, owner, members[owner]), name


def node_at(ring: LocalRing, address: str) -> Node:
    """The node of a ring at an address."""
    return next(node for node in ring.nodes if node.address == address)


def terminate(ring: LocalRing, node: Node, timeout_s: float = 30.0) -> int:
    """SIGTERM; returns the exit code."""
    node.process.terminate()
    code = node.process.wait(timeout_s)
    ring.nodes.remove(node)
    return code
