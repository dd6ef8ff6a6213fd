"""The finger table, and the choice of the next hop among fingers and successor list."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator

from chord.identifiers import IdentifierSpace
from chord.messages import Hop, Pointer


class FingerTable:
    """finger[i] is the owner of identifier + 2**i. Stoica et al. 2003, table I.

    Fingers speed lookups up and never decide them, so an outdated one costs time only. `changes` counts how often one
    was given another owner.
    """

    def __init__(self, me: Pointer, space: IdentifierSpace) -> None:
        self._me = me
        self._space = space
        self._fingers: list[Pointer | None] = [None] * space.bits
        self._refreshed: list[bool] = [False] * space.bits
        self.changes = 0

    def __iter__(self) -> Iterator[Pointer]:
        """The distinct fingers, nearest first."""
        return iter(dict.fromkeys(finger for finger in self._fingers if finger is not None))

    def next_start(self) -> tuple[int, int] | None:
        """Index and start of the first finger not refreshed in this round, or None at the round's end."""
        if False not in self._refreshed:
            return None
        index = self._refreshed.index(False)
        return index, self._space.finger_start(self._me.id, index)

    def finger(self, index: int) -> Pointer | None:
        """Finger `index` as it is known."""
        return self._fingers[index]

    def new_round(self) -> None:
        """Every finger is due again."""
        self._refreshed = [False] * self._space.bits

    def fill(self, index: int, owner: Pointer) -> int:
        """The lookup of finger `index`'s start named `owner`: set that finger and all later ones it covers.

        Returns how many were set. One answer fills log-many fingers, so a table is complete in about log2 N lookups.
        """
        reach = self._space.distance(self._me.id, owner.id)
        # The walk came round to this member: from here on there is nobody to point at.
        entry = owner if reach else None
        covered = max(reach or self._space.size, 1 << index)
        first = index
        while index < self._space.bits and (1 << index) <= covered:
            self.changes += self._fingers[index] != entry
            self._fingers[index] = entry
            self._refreshed[index] = True
            index += 1
        return index - first

    def drop(self, dead: Pointer) -> bool:
        """Forget a member that is dead; returns whether it was here."""
        found = False
        for index, finger in enumerate(self._fingers):
            if finger == dead:
                self._fingers[index] = None
                self._refreshed[index] = False
                self.changes += 1
                found = True
        return found

    def doubt(self, suspects: Collection[int]) -> None:
        """Somebody found the members of these identifiers dead: fingers that point at them are due again."""
        for index, finger in enumerate(self._fingers):
            if finger is not None and finger.id in suspects:
                self._refreshed[index] = False


class Routes:
    """Whom a member knows as one sorted row of candidates for the next hop.

    All keys of a stretch, from after one of them to the next, are looked for in the same way: `hops` has room for the
    answer of each stretch.
    """

    __slots__ = ("_after_me", "_mask", "_pointers", "_steps", "hops")

    def __init__(self, me: Pointer, space: IdentifierSpace, members: Iterable[Pointer]) -> None:
        self._after_me = me.id + 1  # counting from there, the walk to this member itself is the longest
        self._mask = space.size - 1
        by_id = {pointer.id: pointer for pointer in members}
        by_id.pop(me.id, None)
        self._pointers = sorted(by_id.values(), key=lambda pointer: self._step(pointer.id))
        self._steps = [self._step(pointer.id) for pointer in self._pointers]
        self.hops: list[Hop | None] = [None] * (len(self._steps) + 1)

    def _step(self, identifier: int) -> int:
        return (identifier - self._after_me) & self._mask

    def stretch(self, key: int) -> int:
        """The number of the stretch in which a key lies: how many members lie strictly between this one and the key."""
        return bisect_left(self._steps, (key - self._after_me) & self._mask)

    def preceding(self, key: int, count: int) -> tuple[Pointer, ...]:
        """Up to `count` candidates strictly between this member and the key, the closest to the key first."""
        end = self.stretch(key)
        start = end - count if end > count else 0
        return tuple(self._pointers[start:end][::-1])
