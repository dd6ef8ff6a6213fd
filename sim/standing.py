"""Where operations stand: what tells two states of a process apart, its suspended generators included.

Generators cannot be copied, but they can be compared: by the chain of functions that are suspended in each other, the
instruction each one waits at, and its local variables. An object that is unknown here raises, so that no difference is
overlooked.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from operator import length_hint
from random import Random
from types import FunctionType, GeneratorType
from typing import Any

import msgspec

from chord.errors import RingcastError
from chord.host import Host
from chord.identifiers import IdentifierSpace
from chord.kernel import Kernel
from chord.lookup import Walk
from chord.member import Member
from chord.messages import Pointer
from chord.ring_state import RingState

TURNS = {"ask_neighbours": "attempt"}
"""The variables, beside `_`, that count the turns of a loop and decide only how long it pauses and when it gives up.

They are left out: a loop is taken to be without end, so that asking a busy peer again leads to a state seen before.
"""


def stand(operation: Any) -> tuple[Hashable, ...]:
    """A suspended operation: for each function of the chain its name, the instruction it waits at, its locals."""
    chain: list[Hashable] = []
    generator = operation
    while isinstance(generator, GeneratorType):
        frame, code = generator.gi_frame, generator.gi_code
        assert frame is not None, f"{code.co_qualname} has ended"
        chain.append((code.co_qualname, frame.f_lasti, _each(frame.f_locals, TURNS.get(code.co_name, "_"))))
        generator = generator.gi_yieldfrom
    return tuple(chain)


def _each(named: Mapping[str, Any], left_out: str = "_") -> tuple[Hashable, ...]:
    return tuple((name, plain(value)) for name, value in named.items() if name not in (left_out, "_"))


def pointers_and_flags(member: Member) -> tuple[Hashable, ...]:
    """What of a member can decide anything, its operations apart."""
    return (
        member.me,
        member.state,
        member.active,
        member.reach.complete,
        member.attached,
        member.adopted,
        member.leaving,
        member.rejoining,
        member.pending,
        member.stabilizing,
        member.stabilize_again,
        member.rectifying,
        member.notifier,
        plain(list(member.fingers)),
    )


def plain(value: Any) -> Hashable:
    """What of a value can decide anything, as something that compares by value."""
    match value:
        case None | bool() | int() | float() | str() | bytes() | Pointer() | RingState():
            return value
        case tuple() | list():
            return tuple(plain(each) for each in value)
        case set() | frozenset():
            return tuple(sorted(map(repr, value)))
        case Member():
            return "member", value.me
        case Host() | Kernel() | IdentifierSpace() | Random() | FunctionType() | type():
            return type(value).__name__  # what they hold is told elsewhere, or decides only how long a pause is
        case Walk():
            return value.key, len(value.exchanges), bool(value.path), plain(value.owners)
        case RingcastError():
            return type(value).__name__
        case msgspec.Struct():
            return value  # messages are frozen
        case Iterator():
            return "left", length_hint(value)
    slots = getattr(value, "__dict__", None)
    if slots is None or type(value).__module__ != "chord.lookup":
        raise TypeError(f"nobody knows how to compare a {type(value).__qualname__} that an operation holds")
    return type(value).__name__, _each(slots)
