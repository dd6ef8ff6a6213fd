"""What an asking process of `bench dht-peers` is told and says, whatever system it asks: JSON lines.

    {"put": [KEY, ...], "value": TEXT}                  stores the value under each key; answers {}
    {"get": [KEY, ...], "every_s": S, "until_s": S}     gets each in turn; answers as `Answers`

A key that the node asked holds itself is passed over: what is measured is finding it elsewhere.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Protocol

import msgspec

SLOWEST_S = 20.0
"""A get that takes longer than this has failed."""


class Answers(msgspec.Struct):
    """How long each get took that brought the value, in microseconds, and how many did not."""

    took_us: list[float] = []
    failed: int = 0
    passed_over: int = 0


class Asker(Protocol):
    """One node of a system, or a client of one."""

    def put(self, key: str, value: str) -> None: ...

    def get_us(self, key: str, value: str) -> float | None:
        """Microseconds until the value was here; None if it never was, or another one."""

    def held(self, keys: list[str]) -> set[str]:
        """Those of the keys that the node asked holds itself."""


def obey(asker: Asker) -> None:
    """Carry out what stdin says until it ends."""
    value = ""
    for line in sys.stdin:
        order = json.loads(line)
        value = order.get("value", value)
        for key in order.get("put", ()):
            asker.put(key, value)
        answers = _get_all(asker, order["get"], value, order["every_s"], order["until_s"]) if "get" in order else None
        print(msgspec.json.encode(answers).decode() if answers else "{}", flush=True)


def _get_all(asker: Asker, keys: list[str], value: str, every_s: float, until_s: float) -> Answers:
    """One get after the other, the next begun no earlier than it is due, none once the time is over."""
    answers = Answers(took_us=[])
    held = asker.held(keys)
    due = time.monotonic()
    end = due + until_s
    for key in keys:
        if key in held:
            answers.passed_over += 1
            continue
        time.sleep(max(0.0, due - time.monotonic()))
        if time.monotonic() > end:
            break
        due += every_s
        took = asker.get_us(key, value)
        if took is None:
            answers.failed += 1
        else:
            answers.took_us.append(took)
    return answers
