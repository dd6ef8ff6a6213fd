"""Healing a split: rings of one cluster that meet again become one.

They differ in their first member, the owner of key 0. The members of the ring whose first member is higher join the
other one, process by process. So do those of a turn of one ring that is wound around key 0 more than once.
"""

from __future__ import annotations

from collections.abc import Callable

from chord import ring_state
from chord.effects import Operation, call, cast, sleep
from chord.errors import RingcastError
from chord.kernel import Kernel
from chord.lookup import Walk, find_owner, find_predecessor
from chord.lost import LostPeers
from chord.member import Member
from chord.messages import GetNeighbours, Meet, Neighbours, Pointer
from chord.settings import Settings
from chord.views import first_members, ring_walk

CALM_PAUSES = 10
"""Pauses from one probe to the next, on average, while nobody is lost: all of a ring probe the same few contacts."""

FINGERS_PROBED = 0.25
"""The share of probes that go to fingers. When a split takes all successors of a member, its own side may become two
rings that have not lost each other: only fingers lead from one to the other."""

LOOKS = 4
"""How often one look at a peer is repeated, until it shows the same twice in a row."""

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
        self._looking = False

    def for_ever(self) -> Operation[None]:
        """Probe a lost peer every now and then."""
        while not all(member.leaving for member in self._members):
            yield from sleep(self._settings.heal_s * self._kernel.rng.uniform(0.5, 1.0))
            self._lost.forget_long_lost(self._kernel.now)
            if self._calm() and self._kernel.rng.random() * CALM_PAUSES >= 1.0:
                continue
            member, other = self._whom_to_probe()
            if other is not None:
                yield from self.meet(member, other)

    def meet(self, member: Member, other: Pointer) -> Operation[None]:
        """Look whether a peer is in another ring than a member, and if so have the two become one.

        One look goes on at a time in a process; what is asked for meanwhile is left to the next probe.
        """
        if self._looking:
            return
        self._looking = True
        firsts = yield from self._seen_twice(member, other)
        if firsts is not None:
            ours, theirs = firsts
            if ours.id < theirs.id:
                yield from cast(theirs, Meet(member.me))
            else:
                yield from self.move(member, ours, [other, theirs])
        self._looking = False

    def move(self, looking: Member, ours: Pointer, contacts: list[Pointer]) -> Operation[None]:
        """Have every member of this process that is in the ring of `ours`, as `looking` is, join another, one by one.

        Those that it leaves behind are told, so that they need not find out by chance.
        """
        for member in self._members:
            if not member.active or member.leaving:
                continue
            if member is not looking:
                try:
                    first = yield from self._first_member(member.me)
                except RingcastError:
                    continue  # the next probe decides
                if first != ours:
                    continue
            state = member.state
            left = [pointer for pointer in (state.predecessor, *state.successors) if pointer is not None]
            yield from self._rejoin(member, contacts)
            for pointer in dict.fromkeys(left):
                yield from cast(pointer, Meet(member.me))

    def _seen_twice(self, member: Member, other: Pointer) -> Operation[tuple[Pointer, Pointer] | None]:
        """The first members of two rings, the same twice in a row: a ring that is changing may look like two."""
        seen: tuple[Pointer, Pointer] | None = None
        for _ in range(LOOKS):
            if not member.active or member.leaving:
                return None
            try:
                firsts = yield from self._two_rings(member, other)
            except RingcastError:
                firsts = None
            else:
                if firsts is None or firsts == seen:
                    return firsts
            seen = firsts
            yield from sleep(self._settings.heal_s / 4 * self._kernel.rng.uniform(0.5, 1.0))
        return None

    def _calm(self) -> bool:
        """Whether nobody was lost, and every member has company: only the bootstrap contacts are left to probe."""
        return not self._lost.anybody and not any(member.state.alone for member in self._members)

    def _whom_to_probe(self) -> tuple[Member, Pointer | None]:
        """A member, one that is alone more often, and a peer that it might be split from."""
        rng = self._kernel.rng
        alone = [member for member in self._members if member.state.alone]
        member = rng.choice(alone if alone and rng.random() < 0.5 else self._members)
        candidates = list(self._lost)
        if member is not self._members[0]:
            candidates.append(self._members[0].me)
        if self._lost.anybody and rng.random() < FINGERS_PROBED:
            candidates = list(member.fingers) or candidates
        return member, rng.choice(candidates) if candidates else None

    def _two_rings(self, member: Member, other: Pointer) -> Operation[tuple[Pointer, Pointer] | None]:
        """The first members of the ring of `member` and of that of `other`, or None if that is one ring.

        Members that have joined and are not known to all yet may name different first members, too. So each has to be
        on a ring that comes round without the other; where the lookups do not show that, the successors do, or nothing.
        """
        theirs = yield from self._first_member(other)
        ours = yield from self._first_member(member.me)
        if ours.id != theirs.id:
            found = yield from find_owner(self._kernel, self._settings.space, [other], Walk(ours.id))
            if found != ours and (yield from self._comes_round(ours)) and (yield from self._comes_round(theirs)):
                return ours, theirs
        return (yield from self._behind_fingers(member, other))

    def _behind_fingers(self, member: Member, other: Pointer) -> Operation[tuple[Pointer, Pointer] | None]:
        """The same for two rings whose fingers point into each other, so that a lookup in one may end in the other.

        A member that its peer's successor list passes over is in no ring with it, or has just joined. Only then is it
        worth to walk along the successors. Where they lead around key 0 more than once, each turn is as good as a ring.
        """
        view = yield from call(other, GetNeighbours(observe=True), Neighbours, attempts=2)
        theirs = ring_state.looked_at(member.state, view)
        if not ring_state.skips(member.state, view.member) and not ring_state.skips(theirs, member.me):
            self._lost.found(other)
            return None
        our_ring = yield from ring_walk(member.me)
        their_ring = yield from ring_walk(view.member)
        if {one.member.id for one in our_ring} & {one.member.id for one in their_ring}:
            ours, *others = first_members(our_ring)
            return (ours, min(others, key=lambda found: found.id)) if others else None
        lowest = [min((one.member for one in ring), key=lambda found: found.id) for ring in (our_ring, their_ring)]
        return lowest[0], lowest[1]

    def _comes_round(self, first: Pointer) -> Operation[bool]:
        """Whether the way on from a member's successor leads back to it: one that only knows its ring is not on it."""
        view = yield from call(first, GetNeighbours(observe=True), Neighbours, attempts=2)
        if not view.successors:
            return view.whole
        hop = yield from find_predecessor(self._kernel, self._settings.space, view.successors, Walk(first.id))
        return hop.candidates[:1] == (first,)

    def _first_member(self, via: Pointer) -> Operation[Pointer]:
        """The owner of key 0: what two parts of a split ring differ in."""
        return (yield from find_owner(self._kernel, self._settings.space, [via], Walk(0)))
