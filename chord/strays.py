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

OWNERS_A_ROUND = 1024


class Strays:
    """The rounds of one process, whose members share what they store."""

    def __init__(self, members: list[Member]) -> None:
        self._members = members
        self._taken: dict[int, tuple[int, Pointer]] = {}
        """By key: the digest of the record that was given away, and to whom."""

    def for_ever(self) -> Operation[None]:
        """A round every now and then."""
        first = self._members[0]
        pause_s = first.settings.repair_s * ROUND_PAUSES
        while not all(member.leaving for member in self._members):
            yield from sleep(pause_s * first.kernel.rng.uniform(0.5, 1.0))
            member = next((one for one in self._members if one.reach.complete and one.state.successors), None)
            if member is not None:
                yield from self.go_around(member, first.kernel.now - pause_s)

    def go_around(self, member: Member, since: float) -> Operation[None]:
        """Go around the circle from a member on, from one owner of what is here to the next.

        Arcs that their owners have compared with what is here `since` then are passed over. A lookup that fails ends
        the round.
        """
        space = member.settings.space
        before, self._taken = self._taken, {}
        me = at = member.me.id
        for _ in range(OWNERS_A_ROUND):
            key = member.store.key_after(at)
            if key is None or space.distance(me, key) <= space.distance(me, at) or member.leaving:
                return
            end = member.compared.up_to(key, since)
            if end is None:
                try:
                    owner = yield from find_owner(member.kernel, space, [member.me], Walk(key))
                except RingcastError:
                    return
                end = owner.id
                if owner.address != member.me.address:
                    yield from self._give(member, owner, (key - 1) % space.size, before)
            if space.distance(me, end) < space.distance(me, key):
                return
            at = end

    def _give(
        self, member: Member, owner: Pointer, low: int, before: dict[int, tuple[int, Pointer]]
    ) -> Operation[None]:
        """Give an owner what is here from `low` on, unless it holds the same, or has been given that `before`."""
        store = member.store
        try:
            digest = store.digest(low, owner.id)
            answer = yield from call(owner, CompareArc(low, owner.id, digest), Same, attempts=2)
            if answer.same:
                return
            held = [(key, (digest, owner)) for key, digest in store.digests(low, owner.id)]
            for new, run in groupby(held, key=lambda one: before.get(one[0]) != one[1]):
                keys = dict(run)
                if new:
                    first, last = next(iter(keys)), next(reversed(keys))
                    after = (first - 1) % member.settings.space.size
                    yield from send_arc(member, owner, after, last, handover=True, owned=True)
                self._taken.update(keys)
        except RingcastError:
            return  # the next round tries again
