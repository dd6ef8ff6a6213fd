"""The first effect of a rerun that is not as recorded, and how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import msgspec

from chord import wire
from chord.recorded import Answered, AnyEvent, Effect, Kept, Sent

SHOWN = 400
"""Characters of an effect that a difference shows."""


class Difference(msgspec.Struct, kw_only=True):
    """The first effect that is not as recorded: the `effect`-th (from 1) of an event (from 1) at a time in seconds."""

    event: int
    kind: str
    at_s: float
    effect: int
    expected: str
    seen: str


def difference(number: int, event: AnyEvent, seen: Sequence[Effect], raised: str) -> Difference | None:
    """Between what an event led to when it was recorded and what was seen, or the error that it `raised`."""
    kind = str(event.__struct_config__.tag)
    if raised != event.raised:
        expected = event.raised or "no error"
        return Difference(
            event=number, kind=kind, at_s=event.now, effect=0, expected=expected, seen=raised or "no error"
        )
    if raised:
        return None
    for place, (recorded, effect) in enumerate(zip_longest(event.effects, seen), 1):
        if recorded != effect:
            expected, seen_text = _shown(recorded), _shown(effect)
            pairs = enumerate(zip(expected, seen_text, strict=False))
            differ_at = next((at for at, (one, other) in pairs if one != other), 0)
            return Difference(
                event=number,
                kind=kind,
                at_s=event.now,
                effect=place,
                expected=_cut(expected, differ_at),
                seen=_cut(seen_text, differ_at),
            )
    return None


def _shown(effect: Effect | None) -> str:
    """An effect for people."""
    match effect:
        case None:
            text = "nothing"
        case Sent():
            text = f"send to {effect.address}: {_decoded(effect.frame)}"
        case Answered():
            text = f"reply to the request of event {effect.request}: {_decoded(effect.frame)}"
        case Kept():
            text = f"trace row {_decoded(effect.row)}"
    return text


def _cut(text: str, differ_at: int) -> str:
    """The beginning of a long text, and what follows where it differs from the other."""
    if len(text) <= SHOWN:
        return text
    if differ_at < SHOWN // 2:
        return f"{text[:SHOWN]}..."
    return f"{text[: SHOWN // 2]}...{text[differ_at : differ_at + SHOWN // 2]}..."


def _decoded(frame: bytes) -> str:
    try:
        return str(msgspec.msgpack.decode(frame))
    except wire.BAD_INPUT:
        return frame.hex()
