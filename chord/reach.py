"""The reach of a member: from where on all that is stored is here. What it may answer for, beside the arc that it owns.

Plain transitions: they ask nobody, and the time is passed in. docs/decisions/011 tells why there are two.
"""

from __future__ import annotations

from chord.identifiers import IdentifierSpace, between, between_right
from chord.messages import Pointer

SEASONED_S = 10.0
"""How long a member has its records before it counts as one that was there when a neighbour died: a few times what it
takes to find that out."""


TAKERS_KEPT = 16
"""The last ones. More than join, one before the other, until the arcs between have been gathered or compared."""


class Reach:
    """All that is stored under the keys in (low, me] is here; the whole circle if both are the same.

    The arc that a member owns shrinks when a predecessor joins, but the reach only when that one has got its records.
    The arc grows when a predecessor dies, but the reach only when what that one owned last has been gathered: it may
    have been copied to others. A member that has joined is not `complete` until it has fetched its records, those
    after `joined_after` at least. `doubts` counts how often all that was asked before has come to count for nothing;
    `moves` counts that, and changes of the predecessor.
    """

    def __init__(self, me: int, space: IdentifierSpace, now: float) -> None:
        self.low = me
        self.complete = True
        self.joined_after = me
        self.predecessor_complete = False
        self.doubted = False
        self.moves = self.doubts = 0
        self._me = me
        self._space = space
        self._complete_since = now - SEASONED_S
        self._wanting = False
        self._answered: int | None = None
        self._takers: dict[Pointer, int] = {}
        self._heard: set[Pointer] = set()

    def covers(self, key: int) -> bool:
        """Whether what is stored under the key is all here."""
        return between_right(self.low, key, self._me)

    def stands_in(self, key: int) -> bool:
        """Whether it answers for a predecessor that owns the key: until that one has said that it has its records."""
        return not self.predecessor_complete or self.covers(key)

    def taker(self, key: int) -> Pointer | None:
        """Who has taken the key's arc over from here, the nearest after the key: it has its records, or may have."""
        takers = [taker for taker, low in self._takers.items() if between_right(low, key, taker.id)]
        return min(takers, key=lambda taker: self._space.distance(key, taker.id), default=None)

    def unheard_in(self, low: int, high: int) -> list[Pointer]:
        """The takers between `low` and `high` of whom the predecessor has yet to hear, the nearest to `high` first."""
        takers = [taker for taker in self._takers if taker not in self._heard and between(low, taker.id, high)]
        return sorted(takers, key=lambda taker: self._space.distance(taker.id, high))

    def seasoned(self, now: float) -> bool:
        """Whether all records have been here since before any death that the ring is still busy with."""
        return self.complete and not self._wanting and now - self._complete_since >= SEASONED_S

    # Records come --------------------------------------------------------------------------------------------------

    def join(self, after: int) -> None:
        """The member has a place in the ring, and yet to fetch what is stored there, as far back as `after`."""
        self.complete = self.doubted = False
        self._takers.clear()
        self.joined_after = after

    def completed(self, now: float) -> None:
        """The member has the records that it joined for."""
        self.complete = True
        self._complete_since = now
        self._wanting = False

    def given_up(self, now: float) -> None:
        """The member could not get them, and answers with what it has and the others know."""
        self.completed(now)
        self._wanting = True
        self.low = self._nothing

    def doubt(self, now: float) -> None:
        """Somebody else may have owned all of it for a while. It was answered for here all the same."""
        self.moves += 1
        self.doubts += 1
        if not self.complete:
            return
        begin = (self.low + 1) % self._space.size
        self.doubted = True
        self.low = self._nothing
        self.answered(begin)
        self._complete_since = now

    def extend(self, low: int) -> None:
        """What is stored in (low, me] is all here now. It never shrinks the reach."""
        self._wanting = False
        if self._length(low) > self._length(self.low):
            self.low = low

    def answered(self, key: int) -> None:
        """An entry was taken for a key as its owner, though it may lie beyond what is all here, or will be here."""
        if self.complete and self.covers(key):
            return
        distance = self._space.distance
        furthest = self._answered
        if furthest is None or distance(key, self._me) > distance(furthest, self._me):
            self._answered = key

    def answered_after(self) -> int:
        """All that is here, and all that was answered for though not everything is, has its key in (the result, me]."""
        if self._answered is None:
            return self.low
        return max(self.low, (self._answered - 1) % self._space.size, key=self._length)

    # Records go ----------------------------------------------------------------------------------------------------

    def taken(self, low: int, by: Pointer) -> None:
        """The predecessor has (low, it], or was given the last of it just now; all before it if low is this member."""
        low = max(low, self._takers.pop(by, low), key=lambda each: self._space.distance(each, by.id))
        if len(self._takers) >= TAKERS_KEPT:
            del self._takers[next(iter(self._takers))]
        self._takers[by] = low

    def own(self, low: int) -> None:
        """The arc is (low, me], and all here.

        Who has taken some of that, and was lost sight of, lacks what is taken here from now on.
        """
        self.extend(low)
        self.doubted = False
        for taker in [taker for taker in self._takers if between(low, taker.id, self._me)]:
            del self._takers[taker]

    def heard_of(self, taker: Pointer) -> None:
        """The predecessor has heard of it, or need not."""
        self._heard.add(taker)

    def taker_gone(self, taker: Pointer) -> None:
        """It has left, or did not answer: what it has taken is answered for here as before."""
        self._takers.pop(taker, None)

    # Neighbours come and go ----------------------------------------------------------------------------------------

    def alone(self) -> None:
        """There is nobody else who could hold anything."""
        self.low = self._me
        self.doubted = False
        self._takers.clear()

    def moved(self) -> None:
        """The predecessor is another one, or there is none."""
        self.predecessor_complete = False
        self._heard.clear()
        self.moves += 1

    def told(self, predecessor: Pointer, complete: bool) -> int | None:
        """The predecessor says whether it has its records. If so, what lies up to it is not answered for here any more.

        Returns `low` when that is (low, predecessor]: all here, or answered for, until now. None when it is nothing.
        """
        self.predecessor_complete = complete
        if not (complete and self.complete):
            return None
        low = self.answered_after()
        if not between(low, predecessor.id, self._me):
            if predecessor not in self._takers:
                self.taken(self._me, predecessor)  # before this member was here, nobody knows how far back
            return None
        self.taken(low, predecessor)
        if self.covers(predecessor.id):
            self.low = predecessor.id
            self._answered = None
        else:  # there may be more of them between the two, for a next predecessor
            self._answered = (predecessor.id + 1) % self._space.size
        return low

    @property
    def _nothing(self) -> int:
        """The low of a reach that is the member's own identifier alone."""
        return (self._me - 1) % self._space.size

    def _length(self, low: int) -> int:
        return self._space.arc_length(low, self._me)
