"""What was seen in a plan, as complaints quote it: in one line that is never long."""

from __future__ import annotations

MOST_QUOTED = 60
"""Characters."""

MOST_BITS = 192
"""Of a whole number that is written out."""


def quoted(seen: object) -> str:
    """A value as Python writes it, cut where it is long. Of a number that nobody would read, how many bits it has."""
    if isinstance(seen, int) and seen.bit_length() > MOST_BITS:
        return f"a number of {seen.bit_length():,} bits"
    try:
        written = repr(seen)
    except (ValueError, RecursionError):  # a list with such a number in it, or thousands of lists in each other
        return f"a {type(seen).__name__} too large to write"
    return written if len(written) <= MOST_QUOTED else f"{written[:MOST_QUOTED]}... ({len(written):,} characters)"
