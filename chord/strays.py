"""Strays: records that lie where nobody looks for them are given to their owners.

Whoever loses an arc gives its records up at once (`chord.handover`). This goes around again and again for whatever that
missed: a process that changed rings, or lost an arc, at a bad moment holds records of which no owner knows.
"""

from __future__ import annotations

from itertools import groupby

from chord.arcs import send_arc
from chord.effects import Operation, call, sleep
from chord.errors import RingcastError
from chord.lookup import Walk, find_owner
from chord.member import Member
from chord.messages import CompareArc, Pointer, Same

ROUND_PAUSES = 10
"""Repair pauses from one round to the next, at most; half as many at least."""

ARCS_A_ROUND = 1024
"""After so many a round is broken off, and the next one goes on there: it takes hours if they all time out."""

THOROUGH = 0.1
"""The share of rounds that believe no comparison: anybody can compare, and so have strays passed over."""

OUTLASTS_S = 5.0
"""What its owner may have forgotten already, on the way or by a faster clock, would win over what it has counted from 1
again. So what is about to be forgotten here is not given."""


class Strays:
    """The rounds of one process, whose members share what they store."""

    def __init__(self, members: list[Member]) -> None:
        self._members = members
        self._at: int | None = None
        self._met: set[Pointer] = set()
        self._taken: dict[Pointer, dict[int, int]] = {}
        """By owner: the keys of records that it has, with the digests that they had here."""

    def for_ever(self) -> Operation[None]:
        """A round every now and then."""
        first = self._members[0]
        kernel = first.kernel
        pause_s = first.settings.repair_s * ROUND_PAUSES
        while not all(member.leaving for member in self._members):
            yield from sleep(pause_s * kernel.rng.uniform(0.5, 1.0))
            member = next((one for one in self._members if _is_settled(one)), None)
            if member is not None:
                since = kernel.now if kernel.rng.random() < THOROUGH else kernel.now - pause_s
                yield from self.go_around(member, since)

    def go_around(self, member: Member, since: float) -> Operation[None]:
        """Go around the circle from a member on, from one owner of what is here to the next.

        Passed over are arcs of this process, and those that their owners have compared with what is here `since` then.
        A lookup that fails ends the round; the next one goes on behind that key.
        """
        space = member.settings.space
        me = member.me.id
        at = me if self._at is None else self._at
        for _ in range(ARCS_A_ROUND):
            key = member.store.key_after(at)
            if key is None or space.distance(me, key) <= space.distance(me, at):
                self._taken = {owner: keys for owner, keys in self._taken.items() if owner in self._met}
                self._met.clear()
                self._at = None
                return
            if member.leaving:
                return
            end = _own_end(member, key)
            if end is None:
                end = member.compared.end_of(key, since)
            if end is None:
                try:
                    owner = yield from find_owner(member.kernel, space, [member.me], Walk(key))
                except RingcastError:
                    self._at = key
                    return
                end = owner.id
                if owner.address != member.me.address and space.distance(me, key) <= space.distance(me, end):
                    yield from self._give(member, owner, (key - 1) % space.size)
            # An owner beyond this member knows nothing of it, and it of nobody between: on to the next key.
            at = end if space.distance(me, key) <= space.distance(me, end) else key
        self._at = at

    def _give(self, member: Member, owner: Pointer, low: int) -> Operation[None]:
        """Give an owner what is here from `low` on, unless it holds the same, or has taken that before."""
        store = member.store
        self._met.add(owner)
        taken = self._taken.get(owner, {})
        try:
            digest = store.digest(low, owner.id)
            answer = yield from call(owner, CompareArc(low, owner.id, digest), Same, attempts=2)
            held = store.digests(low, owner.id)
            runs = [] if answer.same else groupby(held, key=lambda one: taken.get(one[0]) != one[1])
            for new, run in runs:
                keys = [key for key, _ in run]
                if new:
                    after = (keys[0] - 1) % member.settings.space.size
                    yield from send_arc(member, owner, after, keys[-1], True, owned=True, outlasting_s=OUTLASTS_S)
        except RingcastError:
            return  # the next round tries again
        self._taken[owner] = dict(held)


def _is_settled(member: Member) -> bool:
    return member.active and member.reach.complete and bool(member.state.successors) and not member.leaving


def _own_end(member: Member, key: int) -> int | None:
    """The identifier of the member of this process that owns a key; None if none does."""
    return next((one.me.id for one in member.siblings if one.owns(key) and not one.state.alone), None)
