"""What must hold of a ring at every moment while processes fail by stopping and no live one is taken for dead.

Zave, IEEE TSE 43(12), 2017: properties P1 to P5 of reference rings, with what replaces them where lists get shorter
instead of holding placeholders, and where a ring has no more members than a list has entries (decision 001).
Like sim/checks.py it judges from outside; no code of chord's decides here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from chord.member import Member
from chord.messages import Pointer
from chord.ring_state import RingState
from sim.checks import one_ordered_ring


def broken(members: Sequence[Member]) -> list[str]:
    """What is wrong with the states of these members, which are all that run; empty when nothing is."""
    active = [member for member in members if member.active]
    return [fault for member in active for fault in list_faults(member.state)] or one_ordered_ring(active)


def list_faults(state: RingState) -> list[str]:
    """P1 and P2: a list is in ring order without its owner or a repetition, and no longer than it has to be."""
    mask = state.space.size - 1
    steps = [(pointer.id - state.me.id) & mask for pointer in state.successors]
    found = []
    if steps and (steps[0] == 0 or any(step <= before for before, step in pairwise(steps))):
        found.append(f"{state.me} lists {_row(state.successors)}, which is not in ring order")
    shorter = state.successors[:-1]
    others = {pointer.address for pointer in shorter} - {state.me.address}
    if len(shorter) >= state.length and len(others) >= state.others:
        found.append(f"{state.me} lists {len(state.successors)} members where fewer do")
    return found


def skipped(state: RingState, pointer: Pointer) -> bool:
    """Whether a list reaches past a member without holding it; one that is `whole` reaches all around the ring."""
    if pointer == state.me or pointer in state.successors:
        return False
    if state.whole:
        return True
    mask = state.space.size - 1
    last = state.successors[-1] if state.successors else state.me
    return (pointer.id - state.me.id) & mask <= (last.id - state.me.id) & mask


def principals(members: Iterable[Member]) -> set[Pointer]:
    """The members that nobody skips (Zave 2017): those that the ring knows."""
    active = [member for member in members if member.active]
    states = [member.state for member in active]
    return {member.me for member in active if not any(skipped(state, member.me) for state in states)}


class Principals:
    """P4: only its own end, or its leaving, makes a member that the ring rests on anything but principal.

    The ring rests on those that are members when it is ideal and nobody is joining. Who became principal since then may
    still be missing from an answer that is on its way to a joiner. Zave's SufficientPrincipals, that there are r + 1 of
    them, holds for as long as the budget of failures is kept; in a ring that never had so many members, this is what is
    left of it.
    """

    def __init__(self) -> None:
        self._base: set[Pointer] = set()

    def rest_on(self, members: Iterable[Member]) -> None:
        """The ring is ideal, and these are its members."""
        self._base = {member.me for member in members}

    def lost(self, members: Sequence[Member]) -> list[str]:
        """Who of them is a member still, stays, and is not principal now."""
        active = [member for member in members if member.active]
        staying = {member.me for member in active if not member.leaving}
        demoted = (self._base & staying) - principals(active)
        return [
            f"{pointer} is skipped by {_skipping(active, pointer)}"
            for pointer in sorted(demoted, key=lambda pointer: pointer.id)
        ]


def _skipping(members: Iterable[Member], pointer: Pointer) -> str:
    return "; ".join(
        f"{member.me} whole={member.state.whole} {_row(member.state.successors)}"
        for member in members
        if skipped(member.state, pointer)
    )


def _row(pointers: Sequence[Pointer]) -> str:
    return "[" + " ".join(f"{pointer.id:x}" for pointer in pointers) + "]"
