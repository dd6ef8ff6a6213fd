"""Records held by several processes: a change is acknowledged by its copies, and told to those registered."""

from __future__ import annotations

from collections.abc import Collection

from chord import ring_state
from chord.effects import Operation, call, cast, gather, sleep
from chord.errors import Busy, CopiesMissing
from chord.member import Member
from chord.messages import Changed, Copy, Entry, Noted, Pointer, Stored

COPY_ROUNDS = 6
COPY_PAUSE_S = 0.2
CASTS_IN_A_ROW = 64
CASTS_PAUSE_S = 0.02
"""Casts to many are spread, so that they do not crowd out what the ring itself has to say."""


def replicated(member: Member, entry: Entry, changed: bool) -> Operation[Stored]:
    """Acknowledge once min(replicas, processes) distinct processes hold the entry. Raises CopiesMissing.

    A replica that is busy leaving is no holder: in the next round whoever comes after it is asked in its place.
    """
    holders: set[str] = {member.me.address}
    refused: set[str] = set()
    wanted = 1
    version = entry.version
    for attempt in range(COPY_ROUNDS):
        if attempt:
            yield from sleep(COPY_PAUSE_S)
            # As it is now: its lease goes on, and a later put may have replaced it.
            entry = member.store.find(entry.name, entry.entry, member.kernel.now) or entry
        targets = _targets(member, entry, refused)
        wanted = min(member.settings.replicas, ring_state.processes(member.state))
        missing = [pointer for pointer in targets if pointer.address not in holders]
        handover = [_takes_over(member, pointer, entry) for pointer in missing]
        outcomes = yield from gather(
            [call(pointer, Copy((entry,), over), Noted) for pointer, over in zip(missing, handover, strict=True)]
        )
        holders.update(
            pointer.address for pointer, outcome in zip(missing, outcomes, strict=True) if isinstance(outcome, Noted)
        )
        refused = {
            pointer.address for pointer, outcome in zip(missing, outcomes, strict=True) if isinstance(outcome, Busy)
        }
        if len(holders) >= wanted:
            if changed:
                tell_registered(member, entry)
            return Stored(version, len(holders))
    raise CopiesMissing(
        f"entry {entry.entry!r} of {entry.name!r} is held by {len(holders)} of {wanted} processes; put it again"
    )


def _targets(member: Member, entry: Entry, without: Collection[str]) -> list[Pointer]:
    """Who else has to hold an entry: the replicas, and the predecessor while that one takes the arc over."""
    targets = ring_state.replicas(member.state, member.settings.replicas, without)
    predecessor = member.state.predecessor
    if predecessor is not None and _takes_over(member, predecessor, entry):
        targets = [predecessor, *(pointer for pointer in targets if pointer.address != predecessor.address)]
    return targets


def _takes_over(member: Member, pointer: Pointer, entry: Entry) -> bool:
    """Whether `pointer`, the predecessor, owns the entry rather than this member."""
    return pointer == member.state.predecessor and not member.owns(member.settings.space.key(entry.name))


def tell_registered(member: Member, entry: Entry) -> None:
    """Cast a change to all that are registered in the record."""
    addresses = member.store.registered(entry.name, member.kernel.now)
    if addresses:
        member.kernel.start(_tell(addresses, Changed(entry)))


def _tell(addresses: list[str], change: Changed) -> Operation[None]:
    for number, address in enumerate(addresses, 1):
        yield from cast(address, change)
        if number % CASTS_IN_A_ROW == 0:
            yield from sleep(CASTS_PAUSE_S)


def lapse(member: Member) -> None:
    """Drop what has expired; the owner, which may be a sibling, tells those registered."""
    for entry in member.store.expire(member.kernel.now):
        key = member.settings.space.key(entry.name)
        if any(sibling.owns(key) for sibling in member.siblings):
            tell_registered(member, entry)
