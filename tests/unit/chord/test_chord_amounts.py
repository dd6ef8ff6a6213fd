"""Amounts as people read them."""

from __future__ import annotations

import pytest

from chord.amounts import counted


@pytest.mark.parametrize(
    ("amount", "words", "said"),
    [
        (0, ("hop",), "0 hops"),
        (1, ("hop",), "1 hop"),
        (1365, ("state",), "1,365 states"),
        (1, ("process", "processes"), "1 process"),
        (3, ("process", "processes"), "3 processes"),
    ],
)
def test_one_is_one_and_others_are_many(amount, words, said):
    """Thousands are told apart by commas."""
    assert counted(amount, *words) == said
