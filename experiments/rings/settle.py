"""Waiting until a ring of processes is ideal, as its members themselves tell."""

from __future__ import annotations

import time
from contextlib import suppress

from broker.local_ring import LocalRing
from broker.processes import ProcessFailed
from chord.client import RingClient
from chord.errors import RingcastError
from chord.messages import Neighbours
from chord.settings import Settings
from chord.views import is_consistent
from experiments.rings.observer import Views

POLL_S = 0.1

FINGERS_S = 4.0
"""The finger tables fill within a few refreshes; no request tells when they are full."""


def is_ideal(views: list[Neighbours], count: int, length: int = Settings().successors) -> bool:
    """Whether the walk found `count` members whose lists are full and in the order of the walk."""
    if len(views) != count or not is_consistent(views):
        return False
    identifiers = [view.member.id for view in views]
    for position, view in enumerate(views):
        expected = [identifiers[(position + step) % count] for step in range(1, min(length, count - 1) + 1)]
        if [pointer.id for pointer in view.successors] != expected:
            return False
    return True


def _is_ordered(views: list[Neighbours], count: int, least: int) -> bool:
    """Whether the walk found `count` members whose lists are in its order, and so long at least, or have all others."""
    if len(views) != count or not is_consistent(views):
        return False
    identifiers = [view.member.id for view in views] * 2
    return all(
        len(view.successors) >= min(least, count - 1)
        and [pointer.id for pointer in view.successors] == identifiers[at + 1 : at + 1 + len(view.successors)]
        for at, view in enumerate(views)
    )


def all_ideal(views: Views, living: list[str], length: int = Settings().successors) -> bool:
    """Whether each of these walks found just the nodes at the addresses in `living`, with full lists."""
    return all(
        not isinstance(view, RingcastError)
        and {each.member.address for each in view} == set(living)
        and is_ideal(view, len(living), length)
        for view in views.values()
    )


def wait_for_full_lists(
    ring: LocalRing, timeout_s: float = 30.0, vnodes: int = 1, length: int = Settings().successors
) -> list[Neighbours]:
    """The members of a ring of processes, once it is ideal. Raises ProcessFailed.

    Of virtual nodes lists may be longer than `length`, to span enough processes: so long as they have to be at least.
    """
    deadline = time.monotonic() + timeout_s
    count = len(ring.addresses()) * vnodes
    with RingClient(ring.addresses()[:3]) as client:
        while True:
            views: list[Neighbours] = []
            with suppress(RingcastError):
                views = client.members()
            if is_ideal(views, count, length) if vnodes == 1 else _is_ordered(views, count, length):
                return views
            if time.monotonic() > deadline:
                raise ProcessFailed(f"{len(views)} of {count} members found, not all with full lists, in {timeout_s} s")
            time.sleep(POLL_S)
