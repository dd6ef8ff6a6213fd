"""Ring arithmetic against a model that walks the circle step by step."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chord.errors import InvalidName
from chord.identifiers import IdentifierSpace, between, between_right
from chord.names import MAX_NAME_BYTES, normalise

BITS = (3, 4, 5, 6)


def walk(low: int, high: int, size: int) -> list[int]:
    """The identifiers passed from low (excluded) to high (included), one step at a time."""
    passed = []
    at = low
    while True:
        at = (at + 1) % size
        passed.append(at)
        if at == high:
            return passed


@pytest.mark.parametrize("bits", BITS)
def test_intervals_are_what_a_walk_passes(bits):
    """between is the walk without its end, between_right the walk with it, for every low, x and high."""
    size = 1 << bits
    for low in range(size):
        for high in range(size):
            passed = walk(low, high, size)
            inside, up_to = set(passed[:-1]), set(passed)
            for x in range(size):
                assert between(low, x, high) == (x in inside), (low, x, high)
                assert between_right(low, x, high) == (x in up_to), (low, x, high)


@pytest.mark.parametrize("bits", BITS)
def test_distance_is_the_number_of_steps(bits):
    """The distance from a to b is the length of the walk, and 0 from a to itself."""
    space = IdentifierSpace(bits)
    for start in range(space.size):
        for end in range(space.size):
            steps = len(walk(start, end, space.size)) % space.size
            assert space.distance(start, end) == steps


@pytest.mark.parametrize("bits", BITS)
def test_finger_starts_are_powers_of_two_away(bits):
    """Finger i begins 2**i steps from the member, and the last one half way round."""
    space = IdentifierSpace(bits)
    for identifier in range(space.size):
        starts = [space.finger_start(identifier, index) for index in range(bits)]
        assert [space.distance(identifier, start) for start in starts] == [2**index for index in range(bits)]


@given(st.text(max_size=80))
def test_a_normalised_name_is_its_own_normal_form(text):
    """A name is either refused, or NFC text of 1 to 255 bytes that normalises to itself."""
    try:
        name = normalise(text)
    except InvalidName:
        bytes_of_form = unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")
        controls = any(unicodedata.category(character) in ("Cc", "Cs") for character in text)
        assert not bytes_of_form or len(bytes_of_form) > MAX_NAME_BYTES or controls
    else:
        assert normalise(name) == name == unicodedata.normalize("NFC", text)
        assert 1 <= len(name.encode()) <= MAX_NAME_BYTES


@given(st.text(min_size=1, max_size=40))
def test_composed_and_decomposed_names_have_one_key(text):
    """However a name's accents are written, it lies at one place of the ring."""
    space = IdentifierSpace()
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    try:
        keys = {space.key(form) for form in forms}
    except InvalidName:
        return
    assert len(keys) == 1


@given(st.binary(max_size=40), st.integers(1, 64))
def test_a_shorter_space_has_the_low_bits_of_the_hash(data, bits):
    """Every space takes its bits from the low end of one hash."""
    assert IdentifierSpace(bits).hash_bytes(data) == IdentifierSpace(64).hash_bytes(data) % (1 << bits)
