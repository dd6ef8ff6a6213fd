"""One member's view of the ring, and the pure transitions of Zave's corrected Chord on it.

Zave, "Reasoning about identifier spaces: how to make Chord correct", IEEE TSE 43(12), 2017. Her successor list always
has exactly r entries, a dead one being replaced by a placeholder after the last. Here the list is just shorter by the
placeholders, which skip nobody either way.

Her proof needs more than r members. The small-ring rule covers the rest: a list that holds every other member is
`whole`, and is then read as a cycle (after its last entry comes the member itself). A list that is short but not whole
has lost entries to failures and is refilled by the next stabilization; one that is empty and whole belongs to a member
that is alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from chord.identifiers import IdentifierSpace, between
from chord.messages import Neighbours, Pointer


@dataclass(frozen=True, slots=True)
class RingState:
    """`successors` in ring order from `me`; `length` is r, and `others` how many other processes a list must span."""

    me: Pointer
    space: IdentifierSpace
    length: int
    others: int
    successors: tuple[Pointer, ...] = ()
    whole: bool = True
    predecessor: Pointer | None = None

    @property
    def alone(self) -> bool:
        """Whether this member knows that the ring holds nobody else."""
        return not self.successors and self.whole

    @property
    def isolated(self) -> bool:
        """Whether every successor is lost though there were others beyond them."""
        return not self.successors and not self.whole

    @property
    def successor(self) -> Pointer:
        """The next member on the ring: this one itself when it is alone."""
        return self.successors[0] if self.successors else self.me

    def with_list(self, sequence: Iterable[Pointer], closes: bool) -> RingState:
        """This state with the successor list cut from `sequence`, members in ring order from this one.

        The walk ends at this member itself, or where the order breaks. `closes`: whoever the sequence comes from
        vouches that after its end comes this member.
        """
        me = self.me
        distance = self.space.distance
        kept: list[Pointer] = []
        reached = 0
        whole = closes
        for pointer in sequence:
            if pointer.id == me.id:
                whole = True
                break
            step = distance(me.id, pointer.id)
            if step <= reached:
                whole = False
                break
            if self._full(kept):
                whole = False
                break
            kept.append(pointer)
            reached = step
        return replace(self, successors=tuple(kept), whole=whole)

    def _full(self, kept: list[Pointer]) -> bool:
        """Whether a list has r entries that span enough processes other than its own."""
        if len(kept) < self.length:
            return False
        addresses = {pointer.address for pointer in kept}
        addresses.discard(self.me.address)
        return len(addresses) >= self.others


def joined(state: RingState, member: Neighbours) -> RingState:
    """Join: copy the list of `member`, between whom and its successor this member lies.

    Copied from the predecessor-to-be at full length: a list of the successor alone would strand this member when
    that one dies (Zave 2017, Join).
    """
    sequence = (*member.successors, member.member) if member.whole else member.successors
    return replace(state.with_list(sequence, closes=member.whole), predecessor=member.member)


def successor_answered(state: RingState, answer: Neighbours) -> RingState:
    """StabilizeFromSuccessor: the list becomes the successor and its list."""
    return state.with_list((answer.member, *answer.successors), closes=answer.whole)


def reattached(state: RingState, answer: Neighbours) -> RingState:
    """A member whose successors all died has found the first living one after them: as if it had stabilized from it.

    Beyond Zave's assumption that some successor lives; joining anew instead would take this member from its
    predecessor's list too, which may hold nobody else.
    """
    if not state.isolated or answer.member.id == state.me.id:
        return state
    return successor_answered(state, answer)


def candidate_answered(state: RingState, answer: Neighbours) -> RingState:
    """StabilizeFromPredecessor: adopt the successor's predecessor, which has just answered, if it still fits."""
    candidate = answer.member
    if candidate.id == state.me.id or not between(state.me.id, candidate.id, state.successor.id):
        return state
    return successor_answered(state, answer)


def better_successor(state: RingState, answer: Neighbours) -> Pointer | None:
    """The successor's predecessor, when it lies between this member and that successor and so may be closer."""
    found = answer.predecessor
    if found is None or found.id == state.me.id or found.id == state.successor.id:
        return None
    return found if between(state.me.id, found.id, state.successor.id) else None


def dropped(state: RingState, dead: Pointer) -> RingState:
    """A member is dead for certain: every pointer to that incarnation goes."""
    successors = tuple(pointer for pointer in state.successors if pointer != dead)
    predecessor = None if state.predecessor == dead else state.predecessor
    if successors == state.successors and predecessor == state.predecessor:
        return state
    return replace(state, successors=successors, predecessor=predecessor)


def rectified(state: RingState, notifier: Pointer) -> tuple[RingState, bool]:
    """Rectify: adopt the notifier if it is closer. True: the old predecessor must be pinged before it is replaced."""
    old = state.predecessor
    if notifier.id == state.me.id or old == notifier:
        return state, False
    if old is None or old.id == notifier.id or between(old.id, notifier.id, state.me.id):
        return replace(state, predecessor=notifier), False
    return state, True


def listed_owner(state: RingState, key: int) -> Pointer | None:
    """Whose a key is, as far as the successor list reaches, else None. A whole list reaches round to this member."""
    me = state.me.id
    mask = state.space.size - 1
    distance = (key - me) & mask
    for pointer in state.successors:
        if (pointer.id - me) & mask >= distance > 0:
            return pointer
    return state.me if state.whole or not distance else None


def looked_at(state: RingState, view: Neighbours) -> RingState:
    """The state of another member as it told it."""
    return replace(state, me=view.member, successors=view.successors, whole=view.whole, predecessor=view.predecessor)


def skips(state: RingState, pointer: Pointer) -> bool:
    """Whether the list reaches past a member without holding it (Zave 2017); one that is `whole` reaches all around."""
    if pointer.id == state.me.id or any(listed.id == pointer.id for listed in state.successors):
        return False
    distance = state.space.distance
    last = state.successors[-1].id if state.successors else state.me.id
    return state.whole or distance(state.me.id, pointer.id) < distance(state.me.id, last)


def processes(state: RingState) -> int:
    """How many processes this member knows to be in its list, itself included."""
    return len({state.me.address, *(pointer.address for pointer in state.successors)})


def replicas(state: RingState, count: int, without: Collection[str] = ()) -> list[Pointer]:
    """The first members of the list on `count - 1` distinct processes other than this one's and those `without`."""
    seen = {state.me.address, *without}
    chosen: list[Pointer] = []
    for pointer in state.successors:
        if len(chosen) >= count - 1:
            break
        if pointer.address not in seen:
            seen.add(pointer.address)
            chosen.append(pointer)
    return chosen
