"""The recursive lookup: members pass it on among themselves, and the owner answers the asker directly.

It takes about half as many messages one after the other as the iterative one does. Nobody on the way waits for anybody,
so what is lost there is lost: then the asker goes the iterative way (docs/decisions/009-recursive-lookups.md).
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from chord.effects import Call, Operation
from chord.errors import LookupFailed, PeerUnreachable
from chord.identifiers import IdentifierSpace, between_right
from chord.limits import MAX_AVOIDED, MAX_FORWARDS
from chord.lookup import Asker, Walk
from chord.member import Member
from chord.messages import Arrived, Forward, Hop, NextHop, Pointer
from chord.trace import HopTrace

TOKEN_BITS = 53


class RecursiveAsker(Asker, Protocol):
    """What the asker of a recursive lookup needs of its kernel beside that."""

    @property
    def rng(self) -> random.Random: ...


# The asker ---------------------------------------------------------------------------------------------------------


def find_owner_recursively(
    asker: RecursiveAsker, via: Iterable[Pointer], answer_at: str, walk: Walk
) -> Operation[Pointer]:
    """Have the ring find the owner of `walk.key` and tell it at `answer_at` (host:port), where this process serves.

    Raises LookupFailed when no answer came in time, or one that says that there was no way on; asked in another way
    the ring may still know the owner. `walk` fills either way.
    """
    walk.started_at = asker.now
    contact = _contact(asker, via)
    token = asker.rng.getrandbits(TOKEN_BITS) | 1
    try:
        arrived: Arrived = yield Call(contact, Forward(walk.key, answer_at, token), token=token)
    except PeerUnreachable as error:
        walk.exchanges.append(HopTrace(contact.id, contact.address, int((asker.now - walk.started_at) * 1e6), True))
        raise LookupFailed(f"the recursive lookup of key {walk.key:016x} through {contact.address} was lost") from error
    if arrived.owner is None or not arrived.path:
        walk.exchanges += _exchanges(arrived.path)
        raise LookupFailed(f"{contact.address} and those after it found no way to the owner of key {walk.key:016x}")
    walk.path += arrived.path
    walk.owners = arrived.owners
    walk.owner = arrived.owner
    walk.named_at = walk.ended_at = asker.now
    walk.exchanges += _exchanges((*arrived.path, *arrived.denied))
    walk.exchanges.append(
        HopTrace(arrived.owner.id, arrived.owner.address, int((asker.now - walk.started_at) * 1e6), False)
    )
    return arrived.owner


def _contact(asker: Asker, via: Iterable[Pointer]) -> Pointer:
    """The first that is not suspected of being dead; when all are, the first."""
    contacts = list(via)
    assert contacts, "a lookup begins somewhere"
    trusted = (each for each in contacts if not asker.round_trips.suspected(each.address, asker.now))
    return next(trusted, contacts[0])


def _exchanges(members: Iterable[Pointer]) -> list[HopTrace]:
    """Members that passed a lookup on. When is known to nobody: only the last row tells a time, of the whole."""
    return [HopTrace(member.id, member.address, 0, False) for member in members]


# The members on the way --------------------------------------------------------------------------------------------


def install(member: Member) -> None:
    """Have the member pass recursive lookups on, and answer them."""
    member.handlers[Forward] = partial(_forward, member)


def _forward(member: Member, lookup: Forward) -> None:
    """Pass a lookup on, or answer it. It is dropped when it came no nearer: then somebody on the way lied."""
    if lookup.owners:
        _confirm(member, lookup)
        return
    key, path, me = lookup.key, lookup.path, member.me
    if path and not between_right(path[-1].id, me.id, key):
        return
    hop, following = _next(member, key)
    path = (*path, me)
    passed_on = Forward(key, lookup.asker, lookup.token, path, hop.candidates if hop.final else ())
    if hop.final and following == me:
        _confirm(member, passed_on)
    elif following is None or len(path) == MAX_FORWARDS:
        member.kernel.cast(lookup.asker, Arrived(lookup.token, None, path))
    else:
        member.kernel.cast(following, passed_on)


def _next(member: Member, key: int) -> tuple[Hop, Pointer | None]:
    """The next hop, and whom to pass the lookup on to: the first candidate that is not suspected of being dead."""
    kernel, me = member.kernel, member.me
    avoid: tuple[int, ...] = ()
    while True:
        hop = member.next_hop(NextHop(key, avoid)) if avoid else member.hop_to(key)
        for candidate in hop.candidates:
            if candidate == me or not kernel.round_trips.suspected(candidate.address, kernel.now):
                return hop, candidate
        avoid += tuple(candidate.id for candidate in hop.candidates if candidate.id not in avoid)
        if not hop.candidates or len(avoid) > MAX_AVOIDED:
            return hop, None


def _confirm(member: Member, lookup: Forward) -> None:
    """Answer as the owner, by the rule of ConfirmOwner; or pass the lookup on to a predecessor that is nearer."""
    kernel, key = member.kernel, lookup.key
    if member.answers_for(key):
        answer = Arrived(lookup.token, member.me, lookup.path, lookup.owners, lookup.denied)
        kernel.cast(lookup.asker, answer)
        return
    predecessor = member.state.predecessor
    denied = (*lookup.denied, member.me)
    if (
        predecessor is None
        or len(denied) == MAX_FORWARDS
        or predecessor in lookup.owners  # it was passed over for this member
        or kernel.round_trips.suspected(predecessor.address, kernel.now)
        or (lookup.denied and not _nearer_owner(member.settings.space, key, member.me, lookup.denied[-1]))
    ):
        kernel.cast(lookup.asker, Arrived(lookup.token, None, lookup.path))
        return
    kernel.cast(predecessor, replace(lookup, denied=denied))


def _nearer_owner(space: IdentifierSpace, key: int, member: Pointer, before: Pointer) -> bool:
    """Whether a member follows the key more closely than one that denied to own it."""
    return space.distance(key, member.id) < space.distance(key, before.id)
