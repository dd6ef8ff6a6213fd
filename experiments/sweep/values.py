"""Numbers as people write them in a plan or behind an option: 8, "2^10", "4..256", [5, 15, 30], "4,8,16..64"."""

from __future__ import annotations

from collections.abc import Sequence

Written = int | str | Sequence[int | str]

FORMS = "a whole number like 8 or 2^10, several of them, or powers of two like 4..256"
SEED_FORMS = "a whole number, several of them, or a range like 1..5"


def number(written: int | str) -> int:
    """One whole number; `2^10` is a power. Raises ValueError with what was expected against what was seen."""
    if isinstance(written, int):
        return written
    base, power, exponent = written.partition("^")
    try:
        found = int(base) ** int(exponent) if power else int(base)
    except ValueError:
        raise ValueError(f"expected {FORMS}; seen {written!r}") from None
    if not isinstance(found, int):
        raise ValueError(f"expected {FORMS}; seen {written!r}")
    return found


def numbers(written: Written, every: bool = False) -> tuple[int, ...]:
    """All of them in order, each once; none of an empty text. Raises ValueError.

    A range is that of the powers of two from one end to the other, which must be two of them; with `every`, of all
    whole numbers.
    """
    found: set[int] = set()
    for each in _items(written):
        if isinstance(each, str) and ".." in each:
            found.update(_range(each, every))
        else:
            found.add(number(each))
    return tuple(sorted(found))


def _items(written: Written) -> list[int | str]:
    if isinstance(written, int):
        return [written]
    if isinstance(written, str):
        return [each.strip() for each in written.split(",")] if written.strip() else []
    return [item for each in written for item in _items(each)]


def _range(written: str, every: bool) -> list[int]:
    low, _, high = written.partition("..")
    first, last = number(low.strip()), number(high.strip())
    if first > last:
        raise ValueError(f"expected a range from the lower number to the higher; seen {written!r}")
    if every:
        return list(range(first, last + 1))
    powers = [1 << exponent for exponent in range(max(0, first).bit_length() - 1, last.bit_length()) if exponent >= 0]
    if not powers or (first, last) != (powers[0], powers[-1]):
        raise ValueError(f"expected powers of two at both ends of a range, or a list; seen {written!r}")
    return powers
