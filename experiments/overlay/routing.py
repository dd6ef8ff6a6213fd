"""Chord's rule on a snapshot, by plain sorting: no code of the ring decides here.

Of those whom a member knows it passes a lookup on to the last one before the key. Whoever owns the key, or has a
successor that does, ends it. Hops are the forwards after the node first asked, up to the key's predecessor.
"""

from __future__ import annotations

from bisect import bisect_left

from experiments.overlay.snapshot import BadSnapshot, Snapshot


class Router:
    """Ways of lookups through a ring that stands still. Members are numbers, their places in ring order."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.size = size = 1 << snapshot.bits
        self.ids = [int(member.id, 16) for member in snapshot.members]
        place = {member.id: at for at, member in enumerate(snapshot.members)}
        self.known: list[list[int]] = []
        self._steps: list[list[int]] = []
        self._successor: list[int] = []
        self._back: list[int] = []
        for member, me in zip(snapshot.members, self.ids, strict=True):
            reached = sorted({(int(each, 16) - me) % size or size for each in member.known if each in place} - {size})
            self._steps.append(reached)
            at = [bisect_left(self.ids, (me + step) % size) for step in reached]
            self.known.append(at)
            self._successor.append(next((place[each] for each in member.successors if each in place), place[member.id]))
            if member.predecessor is not None:
                self._back.append((me - int(member.predecessor, 16)) % size or size)
            else:
                self._back.append(0 if member.successors else size)

    def owner(self, key: int) -> int:
        """The first member at or after a key."""
        return bisect_left(self.ids, key) % len(self.ids)

    def arcs(self) -> list[int]:
        """How many keys each member owns."""
        return [(me - self.ids[at - 1]) % self.size or self.size for at, me in enumerate(self.ids)]

    def next_hop(self, at: int, key: int) -> int | None:
        """Whom a member passes a lookup on to; None: it, or its successor, owns the key."""
        me = self.ids[at]
        if (me - key) % self.size < self._back[at]:
            return None
        following = self._successor[at]
        left = (key - me) % self.size or self.size
        if left <= ((self.ids[following] - me) % self.size or self.size):
            return None
        best = bisect_left(self._steps[at], left) - 1
        return self.known[at][best] if best >= 0 else following

    def path(self, start: int, key: int) -> list[int]:
        """The members that a lookup passes, from the first asked to the one that names the owner.

        Raises BadSnapshot where the tables lead round in a circle.
        """
        path = [start]
        while (following := self.next_hop(path[-1], key)) is not None:
            if len(path) > len(self.ids):
                raise _circle(key)
            path.append(following)
        return path

    def named_owner(self, last: int, key: int) -> int:
        """Whom the last member of a path names as the owner."""
        owns = (self.ids[last] - key) % self.size < self._back[last]
        return last if owns else self._successor[last]

    def tree_to(self, key: int) -> tuple[list[int], list[int]]:
        """The ways of lookups of one key from all members, which are a tree: the hops from each member, and how many
        of these lookups pass through each, its own among them. Raises BadSnapshot like `path`.
        """
        following = [self.next_hop(at, key) for at in range(len(self.ids))]
        hops = [0 if each is None else -1 for each in following]
        order = [at for at, each in enumerate(following) if each is None]
        before: list[list[int]] = [[] for _ in self.ids]
        for at, each in enumerate(following):
            if each is not None:
                before[each].append(at)
        for at in order:  # grows meanwhile, the nearest to the key first
            for one in before[at]:
                hops[one] = hops[at] + 1
                order.append(one)
        if len(order) < len(self.ids):
            raise _circle(key)
        through = [1] * len(self.ids)
        for at in reversed(order):
            after = following[at]
            if after is not None:
                through[after] += through[at]
        return hops, through


def _circle(key: int) -> BadSnapshot:
    return BadSnapshot(
        f"a lookup of {key:016x} goes round in a circle: these members were no ring when the snapshot was taken"
    )


def entered_at(snapshot: Snapshot, router: Router, address: str, key: int) -> int:
    """The member of a process that answers first: the one from which the key is nearest, as the process decides."""
    size = 1 << snapshot.bits
    own = [at for at, member in enumerate(snapshot.members) if member.address == address]
    if not own:
        raise BadSnapshot(f"no member of the ring is at {address}")
    return min(own, key=lambda at: (key - router.ids[at]) % size or size)
