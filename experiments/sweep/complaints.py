"""What is told of a plan that msgspec refuses: which key, what was expected, what was seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final, get_args

from experiments.sweep.cells import Dissemination, FaultKind, Mode, Place
from experiments.sweep.quoting import quoted

CHOICES: Final[dict[str, Sequence[str]]] = {
    "where": get_args(Place),
    "mode": get_args(Mode),
    "dissemination": get_args(Dissemination),
    "kind": get_args(FaultKind),
}
"""The words of keys that take one of some."""

Step = str | int
"""From a table to what it has by a name, or from a list to its item of a number."""


def steps(where: str, name: str = "") -> list[Step]:
    """A path as msgspec writes it, `sweep[0].nodes`, as steps; `name` is that of which it says `[...]`."""
    found = re.findall(r"([^.\[\]]+)|\[(\d+)\]|(\[\.\.\.\])", where)
    return [int(index) if index else name if anything else key for key, index, anything in found]


def written(path: Sequence[Step]) -> str:
    """The same as one reads it: `sweep[0].nodes`, `faults.two-die[1].at_s`."""
    parts = [f"[{step}]" if isinstance(step, int) else f".{_bare(step)}" for step in path]
    return "".join(parts).removeprefix(".") or "top level"


def told(complaint: str, path: Sequence[Step], keys: Sequence[str], tables: Any) -> str:
    """A complaint with the key first: `sweep[0].rate: expected float, got str; seen 'fast'`.

    `path` is where it was met in `tables`, and `keys` are those that there may be.
    """
    key = written(path)
    if (unknown := _named(r"unknown field `(.*)`", complaint)) is not None:
        near = _near(unknown, keys)
        return f"{key}: there is no key {quoted(unknown)}; expected {f'{near!r}?' if near else _one_of(keys)}"
    if (missing := _named(r"missing required field `(.*)`", complaint)) is not None:
        return f"{key}: expected a key {missing!r}; seen none"
    seen = value_at(tables, path)
    last = next((step for step in reversed(path) if isinstance(step, str)), "")
    if "nvalid enum value" in complaint and last in CHOICES:
        near = _near(str(seen), CHOICES[last])
        perhaps = f" (perhaps {near!r})" if near else ""
        return f"{key}: expected {_one_of(CHOICES[last])}{perhaps}; seen {quoted(seen)}"
    what = f"{complaint[:1].lower()}{complaint[1:].replace('`', '')}"
    return f"{key}: {what}" + ("" if seen is None else f"; seen {quoted(seen)}")


def value_at(tables: Any, path: Sequence[Step]) -> Any:
    """The value at a path; None for what is not to be found by it."""
    found = tables
    for step in path:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError):
            return None
    return found


def _named(pattern: str, complaint: str) -> str | None:
    found = re.search(pattern, complaint, re.DOTALL)
    return found[1] if found else None


def _near(word: str, known: Sequence[str]) -> str | None:
    return next(iter(get_close_matches(word, known, 1)), None)


def _one_of(known: Sequence[str]) -> str:
    return f"one of {', '.join(known)}"


def _bare(name: str) -> str:
    """A key as TOML has it, in quotes if it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)
