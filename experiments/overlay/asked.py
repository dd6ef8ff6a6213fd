"""A snapshot of a real ring, by asking each member whom it passes lookups on to.

No request asks for fingers, and none is needed. Whom a member names for a key are the three last ones before it that it
knows, so asking for the key at its predecessor, then for the last one named, and so on, names everybody that its
lookups can ever be passed on to: some dozen questions a member at most, which change nothing.
"""

from __future__ import annotations

import random
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TypeVar

from chord.addresses import check_resolvable
from chord.asking import Ring
from chord.effects import Operation, call, gather
from chord.errors import LookupFailed, PeerUnreachable, RemoteProtocolError, RingcastError
from chord.identifiers import IdentifierSpace, hexadecimal
from chord.kernel import Kernel
from chord.messages import Hop, Neighbours, NextHop, Pointer
from chord.names import check_cluster
from chord.settings import Settings
from chord.sockets import make_context
from chord.zmq_driver import ZmqDriver
from experiments.overlay.ideal import faults, finger_places
from experiments.overlay.snapshot import MemberView, Snapshot, commit, member_view
from experiments.overlay.told import Told

R = TypeVar("R")

AT_ONCE = 32
"""Members that are asked side by side."""

AGAIN_S = 0.25
"""Pause between two snapshots of a ring that is not ideal yet."""


def known_to(space: IdentifierSpace, view: Neighbours) -> Operation[list[Pointer]]:
    """Everybody between a member and its predecessor that it passes lookups on to, the nearest first.

    Raises RemoteProtocolError when its answers do not come nearer, and what is raised when it does not answer.
    """
    me = view.member
    found: list[Pointer] = []
    key = view.predecessor.id if view.predecessor is not None else me.id
    reach = space.distance(me.id, key) or space.size
    while True:
        hop = yield from call(me, NextHop(key), Hop, attempts=2)
        if hop.final or not hop.candidates:
            return found[::-1]
        for pointer in hop.candidates:
            step = space.distance(me.id, pointer.id)
            if not 0 < step < reach:
                raise RemoteProtocolError(f"{me} named {pointer}, which does not lie between it and {key:016x}")
            found.append(pointer)
            key, reach = pointer.id, step


def survey(
    space: IdentifierSpace, views: list[Neighbours], told: Told
) -> Operation[tuple[list[MemberView], list[Pointer]]]:
    """Ask all members of a walk; also those that did not answer to the end, or that are listed and not in the walk."""
    waiting = deque(views)
    found: list[tuple[Neighbours, list[Pointer]]] = []
    while waiting:
        asked = [waiting.popleft() for _ in range(min(AT_ONCE, len(waiting)))]
        answers = yield from gather([known_to(space, view) for view in asked])
        found += [
            (view, known) for view, known in zip(asked, answers, strict=True) if not isinstance(known, RingcastError)
        ]
        told("asking members", len(views) - len(waiting), len(views))
    found.sort(key=lambda each: each[0].member.id)
    answered = {view.member.id for view, _ in found}
    named = {each.id: each for view in views for each in (view.member, *view.successors)}
    ids = sorted(named)
    members = [
        member_view(
            space,
            view.member,
            view.predecessor,
            view.successors,
            _fingers(space, ids, bisect_left(ids, view.member.id), view, known),
        )
        for view, known in found
    ]
    return members, [named[each] for each in ids if each not in answered]


def _fingers(
    space: IdentifierSpace, ids: Sequence[int], at: int, view: Neighbours, known: Iterable[Pointer]
) -> set[int]:
    """Who is known beyond the list can only be a finger. Of the list those are that own a finger's start: whether the
    table has them too makes no difference to any lookup, and nobody outside can tell.
    """
    listed = {pointer.id for pointer in view.successors}
    wanted = {ids[place] for place in finger_places(ids, at, space.bits)}
    return {pointer.id for pointer in known if pointer.id not in listed or pointer.id in wanted}


def take(
    address: str, cluster: str = "ringcast", patience_s: float = 5.0, wait_s: float = 0.0, told: Told = lambda *_: None
) -> Snapshot:
    """A snapshot of the ring that a node at `address` (host:port) belongs to.

    With `wait_s`, one of a ring whose every list and finger is as it should be, and all of whose members answer, or the
    last one that was taken in that time. Raises what a walk along the ring does.
    """
    check_cluster(cluster)
    check_resolvable(address)
    deadline = time.monotonic() + wait_s
    context = make_context()
    kernel = Kernel(cluster, "overlay", random.Random())
    driver = ZmqDriver(context, kernel)
    ring = Ring(kernel, [address], patience_s=patience_s)
    try:
        while True:
            snapshot = _once(ring, driver, cluster, told)
            left = deadline - time.monotonic()
            if left <= 0 or not (wrong := faults(snapshot)):
                return snapshot
            told(f"{len(wrong)} faults to go", wait_s - left, wait_s)
            time.sleep(min(AGAIN_S, left))
    finally:
        driver.close()
        context.destroy(linger=0)


def _once(ring: Ring, driver: ZmqDriver, cluster: str, told: Told) -> Snapshot:
    taken_us = time.time_ns() // 1000
    views = _walked(ring, driver)
    members, unanswered = _result(driver, survey(ring.space, views, told))
    if not members:
        raise LookupFailed(f"none of {len(views)} members answered to the end; take the snapshot again")
    return Snapshot(
        source="live",
        cluster=cluster,
        bits=ring.space.bits,
        successors=list_length(views),
        taken_us=taken_us,
        commit=commit(),
        members=members,
        unanswered={hexadecimal(each.id): each.address for each in unanswered},
    )


def _walked(ring: Ring, driver: ZmqDriver) -> list[Neighbours]:
    """The members of the ring, as a walk finds them that is tried for as long as the patience lasts."""
    try:
        return _result(driver, ring.members())
    except PeerUnreachable as error:
        raise PeerUnreachable(
            f"no ring could be walked within {ring.patience_s:g} s; the last try: {error}; name a node that runs, or "
            "give it longer with --patience"
        ) from None


def list_length(views: Sequence[Neighbours]) -> int:
    """How many entries the lists are meant to have: the number that explains most lists, the least of several.

    A list has as many, or more until it spans enough processes other than its own (chord/ring_state.py); one that holds
    everybody is no witness. Where all hold everybody, that many are enough.
    """
    cut = [view for view in views if not view.whole]
    if not cut:
        return max(1, len(views) - 1)
    members = sorted((view.member for view in views), key=lambda member: member.id)
    places = {member.id: at for at, member in enumerate(members)}
    spans = [_span(members, places[view.member.id]) for view in cut]
    lengths = sorted({len(view.successors) for view in cut})
    explained = [
        sum(len(view.successors) == max(length, span) for view, span in zip(cut, spans, strict=True))
        for length in lengths
    ]
    return max(1, lengths[explained.index(max(explained))])


def _span(members: Sequence[Pointer], at: int) -> int:
    """How many members follow the one at a place until a list of them spans as many other processes as it has to."""
    others: set[str] = set()
    for step in range(1, len(members)):
        others.add(members[(at + step) % len(members)].address)
        if len(others - {members[at].address}) == Settings().others:
            return step
    return len(members) - 1


def _result(driver: ZmqDriver, operation: Operation[R]) -> R:
    outcome = driver.start(operation)
    driver.run(lambda: outcome.done)
    return outcome.value()
