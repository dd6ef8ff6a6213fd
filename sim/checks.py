"""What must hold of a ring, judged from outside by plain sorting: no code of chord's decides here.

Each check returns its findings as sentences, and none when all is well.
"""

from __future__ import annotations

from collections.abc import Sequence

from chord.member import Member
from chord.messages import Pointer
from chord.ring_state import RingState


def ideal_ring(members: Sequence[Member]) -> list[str]:
    """Zave's ideal state: every predecessor, successor list and `whole` flag is what sorting the members gives."""
    if not members:
        return []
    found = [f"{member.me} has not joined" for member in members if not member.active]
    ring = sorted((member.me for member in members), key=lambda pointer: pointer.id)
    place = {pointer.id: index for index, pointer in enumerate(ring)}
    for member in members:
        index = place[member.me.id]
        following = ring[index + 1 :] + ring[:index]
        found += _neighbours(member.state, following)
    return found


def _neighbours(state: RingState, following: list[Pointer]) -> list[str]:
    """One member's state against all other members, in ring order from it."""
    found = []
    predecessor = following[-1] if following else None
    if state.predecessor != predecessor:
        found.append(f"{state.me} has predecessor {state.predecessor}, not {predecessor}")
    expected = ideal_list(state, following)
    if state.successors != expected:
        found.append(f"{state.me} lists {_row(state.successors)}, not {_row(expected)}")
    everybody = len(expected) == len(following)
    # A full list may hold everybody without its owner's knowing; one that is not full has to know why.
    if state.whole != everybody and (state.whole or not is_full(state, expected)):
        found.append(f"{state.me} says whole={state.whole} of {len(expected)} of {len(following)} others")
    return found


def ideal_list(state: RingState, following: list[Pointer]) -> tuple[Pointer, ...]:
    """The first r of the others or more, until `others` processes are among them."""
    for count in range(len(following)):
        if is_full(state, following[:count]):
            return tuple(following[:count])
    return tuple(following)


def is_full(state: RingState, listed: Sequence[Pointer]) -> bool:
    """Whether a list has r entries and spans enough processes other than its owner's."""
    return len(listed) >= state.length and len({one.address for one in listed} - {state.me.address}) >= state.others


def one_ordered_ring(members: Sequence[Member]) -> list[str]:
    """Following first live successors, the members form one cycle in identifier order that passes key 0 once, and
    those not on it lead onto it (Zave's P3 and P5: OneLiveSuccessor, AtMostOneRing, OrderedRing, ConnectedAppendages).
    Who knew everybody, and lost all of them, is its own successor: alone, or about to find out.
    """
    active = {member.me: member for member in members if member.active}
    step: dict[Pointer, Pointer] = {}
    found = []
    for me, member in active.items():
        living = [pointer for pointer in member.state.successors if pointer in active]
        if living or member.state.whole:
            step[me] = living[0] if living else me
        else:
            found.append(f"{me} has no live successor")
    cycles = _cycles(step)
    if len(cycles) > 1:
        found.append(f"{len(cycles)} rings instead of one: " + "; ".join(_row(cycle) for cycle in cycles))
    for cycle in cycles:
        descents = sum(cycle[index].id <= cycle[index - 1].id for index in range(len(cycle)))
        if descents != 1:
            found.append(f"the ring passes key 0 {descents} times: {_row(cycle)}")
    return found


def _cycles(step: dict[Pointer, Pointer]) -> list[tuple[Pointer, ...]]:
    """Every cycle of a function on members, each from its lowest identifier on."""
    cycles: dict[Pointer, tuple[Pointer, ...]] = {}
    settled: set[Pointer] = set()
    for start in step:
        path: dict[Pointer, None] = {}
        at = start
        while at in step and at not in path and at not in settled:
            path[at] = None
            at = step[at]
        if at in path:
            walk = list(path)
            cycle = walk[walk.index(at) :]
            lowest = min(range(len(cycle)), key=lambda index: cycle[index].id)
            cycles[cycle[lowest]] = (*cycle[lowest:], *cycle[:lowest])
        settled.update(path)
    return list(cycles.values())


def right_owner(members: Sequence[Member], key: int) -> Pointer:
    """The first active member at or after a key."""
    ring = sorted((member.me for member in members if member.active), key=lambda pointer: pointer.id)
    return next((pointer for pointer in ring if pointer.id >= key), ring[0])


def _row(pointers: Sequence[Pointer]) -> str:
    return "[" + " ".join(f"{pointer.id:016x}" for pointer in pointers) + "]"
