"""Hypothesis strategies shared by the property tests: identifiers, members, rings, and messages of every type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec.inspect as types
from hypothesis import strategies as st

from chord.identifiers import IdentifierSpace
from chord.messages import Neighbours, Pointer
from chord.ring_state import RingState
from sim.checks import ideal_list

LONGEST = 6
"""Characters, bytes or elements that a drawn text, value or list has at most; limits are tested by themselves."""


def spaces(least: int = 3, most: int = 6) -> st.SearchStrategy[IdentifierSpace]:
    """Circles small enough that walks wrap around all the time."""
    return st.integers(least, most).map(IdentifierSpace)


def pointer(identifier: int, process: int | None = None, incarnation: int = 1) -> Pointer:
    """A member that runs alone in its process, or as one of `process`."""
    return Pointer(identifier, f"10.0.0.{identifier if process is None else process}:5000", incarnation)


@st.composite
def rings(draw: st.DrawFn, least: int = 1, most: int = 10) -> tuple[IdentifierSpace, list[Pointer]]:
    """A space, and the members of a ring in identifier order; some of them share a process."""
    space = draw(spaces())
    identifiers = draw(st.sets(st.integers(0, space.size - 1), min_size=least, max_size=min(most, space.size)))
    processes = draw(st.integers(1, most))
    return space, [pointer(identifier, identifier % processes) for identifier in sorted(identifiers)]


def following(ring: Sequence[Pointer], me: Pointer) -> list[Pointer]:
    """All other members in ring order from this one."""
    higher = [member for member in ring if member.id > me.id]
    return higher + [member for member in ring if member.id < me.id]


def ideal(space: IdentifierSpace, ring: Sequence[Pointer], me: Pointer, length: int, others: int) -> RingState:
    """The state of a member of an ideal ring."""
    rest = following(ring, me)
    state = RingState(me, space, length, others)
    listed = ideal_list(state, rest)
    predecessor = rest[-1] if rest else None
    return RingState(me, space, length, others, listed, len(listed) == len(rest), predecessor)


def answer(state: RingState) -> Neighbours:
    """What a member in this state answers to a neighbour query."""
    return Neighbours(state.me, state.predecessor, state.successors, state.whole)


# Messages ----------------------------------------------------------------------------------------------------------


def messages(kind: type) -> st.SearchStrategy[Any]:
    """Any value of a message type, from the types and limits that it declares."""
    return _of(types.type_info(kind))


def _of(kind: types.Type) -> st.SearchStrategy[Any]:
    match kind:
        case types.IntType():
            return st.integers(kind.ge or 0, 2**64 - 1 if kind.le is None else kind.le)
        case types.FloatType():
            return st.floats(kind.ge, kind.le, allow_nan=False)
        case types.StrType():
            return st.text(min_size=kind.min_length or 0, max_size=LONGEST)
        case types.BytesType():
            return st.binary(max_size=LONGEST)
        case types.BoolType():
            return st.booleans()
        case types.NoneType():
            return st.none()
        case types.UnionType():
            return st.one_of([_of(one) for one in kind.types])
        case types.VarTupleType():
            return st.lists(_of(kind.item_type), max_size=min(LONGEST, kind.max_length or LONGEST)).map(tuple)
        case types.TupleType():
            return st.tuples(*[_of(one) for one in kind.item_types])
        case types.StructType():
            return st.builds(kind.cls, **{field.name: _of(field.type) for field in kind.fields})
    raise NotImplementedError(f"no strategy for {kind}")
