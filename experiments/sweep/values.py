"""Numbers as people write them in a plan or behind an option: 8, "2^10", "4..256", [5, 15, 30], "4,8,16..64"."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.sweep.quoting import quoted

Written = int | str | Sequence[int | str]

FORMS = "a whole number like 8 or 2^10, several of them, or powers of two like 4..256"
SEED_FORMS = "a whole number, several of them, or a range like 1..5"

MOST = (1 << 63) - 1
"""The greatest number, as in the files of a run."""

MOST_EXPONENT = 63
MOST_CHARACTERS = 30
"""Of a number in text: a base, or an exponent."""

MOST_NUMBERS = 10_000
"""Of one key."""


def number(written: int | str) -> int:
    """One whole number; `2^10` is a power. Raises ValueError with what was expected against what was seen."""
    found = written if isinstance(written, int) else _power(written)
    if abs(found) > MOST:
        raise ValueError(f"expected numbers below 2^63; seen {quoted(written)}")
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
        if len(found) > MOST_NUMBERS:
            raise _too_many(written)
    return tuple(sorted(found))


def _power(written: str) -> int:
    """What a text says; far beyond MOST at most, whatever it says. Raises ValueError."""
    base, power, exponent = written.partition("^")
    if not power:
        return _whole(base, written)
    times = _whole(exponent, written)
    if times < 0:
        raise ValueError(f"expected {FORMS}; seen {quoted(written)}")
    if times > MOST_EXPONENT:
        raise ValueError(f"expected exponents up to {MOST_EXPONENT}; seen {quoted(written)}")
    return int(_whole(base, written) ** times)


def _whole(digits: str, written: str) -> int:
    if len(digits.strip()) > MOST_CHARACTERS:
        raise ValueError(f"expected numbers below 2^63; seen {quoted(written)}")
    try:
        return int(digits)
    except ValueError:
        raise ValueError(f"expected {FORMS}; seen {quoted(written)}") from None


def _items(written: Written) -> list[int | str]:
    if isinstance(written, int):
        return [written]
    if isinstance(written, str):
        return [each.strip() for each in written.split(",")] if written.strip() else []
    return [item for each in written for item in _items(each)]


def _range(written: str, every: bool) -> Sequence[int]:
    low, _, high = written.partition("..")
    first, last = number(low.strip()), number(high.strip())
    if first > last:
        raise ValueError(f"expected a range from the lower number to the higher; seen {quoted(written)}")
    if every:
        if last - first >= MOST_NUMBERS:
            raise _too_many(written)
        return range(first, last + 1)
    powers = [1 << exponent for exponent in range(max(0, first).bit_length() - 1, last.bit_length()) if exponent >= 0]
    if not powers or (first, last) != (powers[0], powers[-1]):
        raise ValueError(f"expected powers of two at both ends of a range, or a list; seen {quoted(written)}")
    return powers


def _too_many(written: Written) -> ValueError:
    return ValueError(f"expected at most {MOST_NUMBERS:,} numbers; seen more in {quoted(written)}")
