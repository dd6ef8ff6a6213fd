"""Amounts as people read them."""

from __future__ import annotations


def counted(amount: int, one: str, many: str = "") -> str:
    """`1 hop`, `2 hops`, `1,365 states`; `many` where an s is not enough."""
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"
