"""Who owns a key while members come and go: what answers are held against, by plain sorting."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from chord.member import Member
from chord.messages import Pointer
from chord.trace import EventTrace
from sim.cluster import Cluster

COME, GONE = ("joined", "rejoin failed"), ("left", "rejoining")


@dataclass(slots=True, eq=False)
class Question:
    """A lookup under way, and all that owned its key since it began."""

    key: int
    owners: set[Pointer]


class Owners:
    """The active members of the running processes, in ring order.

    An answer takes time, in which the owner may change: right is whoever owned the key at any moment from the question
    to the answer. Whoever is just joining, not adopted yet, or leaving, its records handed over, shares its keys with
    the member after it: until both neighbours have heard of it, neither of the two is wrong. By the papers' rule, the
    stricter one, right is the first living member at or after the key at the moment of the answer.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._identifiers: list[int] = []
        self._members: list[Member] = []
        self._open: set[Question] = set()

    def begin(self) -> None:
        """Take in the members of a ring that there is already."""
        for member in self._cluster.members():
            if member.active:
                self._add(member)

    def heard(self, row: msgspec.Struct) -> None:
        """Take in what a trace row says of a member, at the moment at which it is left."""
        if not isinstance(row, EventTrace) or row.kind not in (*COME, *GONE):
            return
        if row.kind in COME:
            members = self._cluster.nodes[row.address].host.members
            self._add(next(member for member in members if member.me.id == row.node))
        self.changed()

    def changed(self) -> None:
        """Somebody has come or gone: from now on others may own the keys that are asked for."""
        for question in self._open:
            question.owners.update(self.sharing(question.key))

    def ask(self, key: int) -> Question:
        """A lookup begins; what becomes of it is told by `answered`, and of none that ends otherwise."""
        question = Question(key, set(self.sharing(key)))
        self._open.add(question)
        return question

    def answered(self, question: Question, owner: Pointer | None) -> tuple[bool, bool]:
        """Whether an answer that came now, None if that was an error, is right; and whether by the papers' rule."""
        self._open.discard(question)
        question.owners.update(self.sharing(question.key))
        return owner in question.owners, owner == next(self._following(question.key)).me

    def sharing(self, key: int) -> Iterator[Pointer]:
        """The owner of a key, and before it those that come or go just now."""
        for member in self._following(key):
            yield member.me
            if self._cluster.nodes[member.me.address].booted.done and not member.handed_over:
                return

    def _following(self, key: int) -> Iterator[Member]:
        """The members from the first at or after a key on; those that are none any more are forgotten."""
        at = bisect_left(self._identifiers, key)
        for member in (*self._members[at:], *self._members[:at]):
            node = self._cluster.nodes.get(member.me.address)
            if node is not None and member.active and member in node.host.members:
                yield member
            else:
                self._drop(member.me.id)

    def _add(self, member: Member) -> None:
        at = bisect_left(self._identifiers, member.me.id)
        if self._identifiers[at : at + 1] == [member.me.id]:
            self._members[at] = member
            return
        self._identifiers.insert(at, member.me.id)
        self._members.insert(at, member)

    def _drop(self, identifier: int) -> None:
        at = bisect_left(self._identifiers, identifier)
        if self._identifiers[at : at + 1] == [identifier]:
            del self._identifiers[at], self._members[at]
