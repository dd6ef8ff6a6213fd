"""Numbers in a plan and behind options, as people write them."""

from __future__ import annotations

import pytest

from experiments.sweep.values import Written, number, numbers


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (8, (8,)),
        ("4,8,16", (4, 8, 16)),
        (" 8, 4,8 ", (4, 8)),
        ("4..32", (4, 8, 16, 32)),
        ("1..4", (1, 2, 4)),
        ("2^10..2^12", (1024, 2048, 4096)),
        ("3,4..8", (3, 4, 8)),
        ([5, 15, "2^5"], (5, 15, 32)),
        ("", ()),
    ],
)
def test_numbers_come_in_order_and_once(written: Written, found: tuple[int, ...]) -> None:
    """A range is that of the powers of two from end to end."""
    assert numbers(written) == found


def test_a_range_of_seeds_is_every_number() -> None:
    """Seeds are not sizes."""
    assert numbers("1..5", every=True) == (1, 2, 3, 4, 5)


def test_a_large_number_is_written_as_a_power() -> None:
    """10^8 lookups need no counting of zeros."""
    assert number("10^8") == 100_000_000


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("four", "expected a whole number like 8 or 2^10, several of them, or powers of two like 4..256; seen 'four'"),
        ("4,", "expected a whole number like 8 or 2^10, several of them, or powers of two like 4..256; seen ''"),
        ("2^-1", "expected a whole number like 8 or 2^10, several of them, or powers of two like 4..256; seen '2^-1'"),
        ("5..30", "expected powers of two at both ends of a range, or a list; seen '5..30'"),
        ("0..4", "expected powers of two at both ends of a range, or a list; seen '0..4'"),
        ("2^1000000", "expected exponents up to 63; seen '2^1000000'"),
        ("2^99999999999", "expected exponents up to 63; seen '2^99999999999'"),
        ("2^63", "expected numbers below 2^63; seen '2^63'"),
        ("10^63", "expected numbers below 2^63; seen '10^63'"),
        (1 << 63, "expected numbers below 2^63; seen 9223372036854775808"),
        (1 << 1000, "expected numbers below 2^63; seen a number of 1,001 bits"),
        ("9" * 5000, f"expected numbers below 2^63; seen '{'9' * 59}... (5,002 characters)"),
        (f"2^{'9' * 5000}", f"expected numbers below 2^63; seen '2^{'9' * 57}... (5,004 characters)"),
        ("0^-1", "expected a whole number like 8 or 2^10, several of them, or powers of two like 4..256; seen '0^-1'"),
        ("8..4", "expected a range from the lower number to the higher; seen '8..4'"),
    ],
)
def test_what_is_no_number_is_refused(written: Written, said: str) -> None:
    """With what was expected and what was seen."""
    with pytest.raises(ValueError, match="expected") as raised:
        numbers(written)
    assert str(raised.value) == said


def test_the_greatest_number_is_one() -> None:
    """What the files of a run have room for."""
    assert number("9223372036854775807") == number((1 << 63) - 1) == 2**63 - 1
    assert numbers("2^61..2^62") == (2**61, 2**62)


@pytest.mark.parametrize(
    "written", ["1..1000000000000", "0..10000", "1..9223372036854775807", ["1..6000", "6001..12000"]]
)
def test_more_numbers_than_anybody_means_are_not_listed(written: Written) -> None:
    """They are counted before."""
    with pytest.raises(ValueError, match=r"expected at most 10,000 numbers; seen more in "):
        numbers(written, every=True)


def test_as_many_numbers_as_cells_are_listed() -> None:
    """10,000 seeds are a plan."""
    assert numbers("1..10000", every=True) == tuple(range(1, 10_001))
