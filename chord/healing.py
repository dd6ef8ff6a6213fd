"""Healing a split: rings of one cluster that meet again become one.

They differ in their first member, the owner of key 0. The members of the ring whose first member is higher join the
other one, process by process.
"""

from __future__ import annotations

from collections.abc import Callable

from chord.effects import Operation, cast, sleep
from chord.errors import RingcastError
from chord.kernel import Kernel
from chord.lookup import Walk, find_owner
from chord.lost import LostPeers
from chord.member import Member
from chord.messages import Meet, Pointer
from chord.settings import Settings
from chord.views import comes_round, ring_walk

Rejoin = Callable[[Member, list[Pointer]], Operation[None]]


class Healing:
    """Looks for another ring behind the peers that a process lost. `rejoin` has a member join through some contacts."""

    def __init__(
        self, kernel: Kernel, settings: Settings, members: list[Member], lost: LostPeers, rejoin: Rejoin
    ) -> None:
        self._kernel = kernel
        self._settings = settings
        self._members = members
        self._lost = lost
        self._rejoin = rejoin

    def for_ever(self) -> Operation[None]:
        """Probe a lost peer every now and then.

        A ring that is changing may look like two, so another ring has to be seen twice, through the same peer and with
        the same first members.
        """
        suspected: tuple[Member, Pointer] | None = None
        seen: tuple[Pointer, Pointer] | None = None
        while not all(member.leaving for member in self._members):
            yield from sleep(self._settings.heal_s * self._kernel.rng.uniform(0.5, 1.0))
            self._lost.forget_long_lost(self._kernel.now)
            member, other = suspected or self._whom_to_probe()
            suspected = None
            if other is None or not member.active:
                continue
            try:
                firsts = yield from self._two_rings(member, other)
            except RingcastError:
                continue
            if firsts is None:
                continue
            if firsts != seen:
                suspected = member, other
                seen = firsts
                continue
            seen = None
            ours, theirs = firsts
            if ours.id < theirs.id:
                yield from cast(theirs, Meet(member.me))
            else:
                yield from self.move(ours, [other, theirs])

    def move(self, ours: Pointer, contacts: list[Pointer]) -> Operation[None]:
        """Have every member of this process that is in the ring of `ours` join another ring, one by one."""
        for member in self._members:
            if not member.active or member.leaving:
                continue
            try:
                first = yield from self._first_member(member.me)
            except RingcastError:
                continue  # the next probe decides
            if first == ours:
                yield from self._rejoin(member, contacts)

    def _whom_to_probe(self) -> tuple[Member, Pointer | None]:
        """A member, one that is alone more often, and a peer that it might be split from."""
        rng = self._kernel.rng
        alone = [member for member in self._members if member.state.alone]
        member = rng.choice(alone if alone and rng.random() < 0.5 else self._members)
        candidates = list(self._lost)
        if member is not self._members[0]:
            candidates.append(self._members[0].me)
        return member, rng.choice(candidates) if candidates else None

    def _two_rings(self, member: Member, other: Pointer) -> Operation[tuple[Pointer, Pointer] | None]:
        """The first members of the ring of `member` and of that of `other`, or None if that is one ring.

        Members that have joined and are not known to all yet may name different first members, too. So each has to be
        on a ring that comes round without the other.
        """
        theirs = yield from self._first_member(other)
        ours = yield from self._first_member(member.me)
        if ours.id == theirs.id:
            self._lost.found(other)
            return None
        found = yield from find_owner(self._kernel, self._settings.space, [other], Walk(ours.id))
        if found == ours:
            return None
        our_ring = yield from ring_walk(ours)
        their_ring = yield from ring_walk(theirs)
        shared = {view.member.id for view in our_ring} & {view.member.id for view in their_ring}
        return None if shared or not comes_round(our_ring) or not comes_round(their_ring) else (ours, theirs)

    def _first_member(self, via: Pointer) -> Operation[Pointer]:
        """The owner of key 0: what two parts of a split ring differ in."""
        return (yield from find_owner(self._kernel, self._settings.space, [via], Walk(0)))
