"""Short names for the runs of a table, which mostly begin alike."""

from __future__ import annotations

from collections.abc import Collection
from itertools import takewhile
from string import ascii_letters, digits


def labels(names: Collection[str], width: int) -> dict[str, str]:
    """What stands for each name, no two of them alike: without the words that all begin with, cut to `width`.

    If names are alike at the end that is left, they are cut at the other one; if they are in both, not at all.
    """
    front = _words_in_common(min(names), max(names)) if len(names) > 1 else 0
    rest = {name: name[front:] for name in names}
    for cut in (_cut_end, _cut_front):
        short = {name: text if len(text) <= width else cut(text, width) for name, text in rest.items()}
        if len(set(short.values())) == len(rest):
            return short
    return rest


def _words_in_common(one: str, other: str) -> int:
    """How many characters of whole words two names begin with."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return len("".join(each for each, _ in same).rstrip(ascii_letters + digits))


def _cut_end(text: str, width: int) -> str:
    return f"{text[: width - 1]}…"


def _cut_front(text: str, width: int) -> str:
    return f"…{text[1 - width :]}"
