"""Names in the form that is hashed, identifiers known from elsewhere, and what each error promises."""

from __future__ import annotations

import inspect

import pytest

from chord import errors
from chord.errors import InvalidName, RingcastError
from chord.identifiers import IdentifierSpace, hexadecimal
from chord.names import check_cluster, normalise

INDEFINITE = {"RemoteProtocolError", "PeerUnreachable", "CopiesMissing"}
KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, RingcastError)]


@pytest.mark.parametrize("name", ["A", " ", "x" * 255, "é" * 127, "日本語", "😀", "\u200b", "\U0010ffff"], ids=ascii)
def test_a_good_name_stays_as_it_is(name):
    """1 to 255 bytes of UTF-8 without control characters."""
    assert normalise(name) == name


def test_two_forms_of_a_name_are_one():
    """NFC, and what is normalised once stays."""
    assert normalise("cafe\u0301") == "caf\u00e9"
    assert normalise("\u212b") == "\u00c5"
    assert IdentifierSpace().key("cafe\u0301") == IdentifierSpace().key("caf\u00e9")


def test_a_name_is_measured_in_its_normal_form():
    """128 decomposed letters of three bytes each are 256 bytes composed: one too many; 127 fit."""
    assert len(normalise("e\u0301" * 127).encode()) == 254
    with pytest.raises(InvalidName, match="has 256 bytes"):
        normalise("e\u0301" * 128)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "the name is empty"),
        ("x" * 256, "has 256 bytes; at most 255 are allowed"),
        ("x" * 10**6, "has 1000000 characters; at most 255 bytes are allowed"),
        ("\ud800", r"character 1 cannot be written as UTF-8"),
        ("ab\udfff", r"character 3 cannot be written as UTF-8"),
        ("\0", r"holds the control character '\\x00' at position 1"),
        ("ab\n", r"holds the control character '\\n' at position 3"),
        ("\x9f", "holds the control character"),
    ],
    ids=lambda text: ascii(text[:10]),
)
def test_a_bad_name_is_refused(name, said):
    """In one sentence that says where it goes wrong; InvalidName is definite."""
    with pytest.raises(InvalidName, match=said):
        normalise(name)
    with pytest.raises(InvalidName, match=said):
        IdentifierSpace().key(name)


@pytest.mark.parametrize("cluster", ["", "x" * 65, "\udcff"], ids=ascii)
def test_a_bad_cluster_is_refused(cluster):
    """1 to 64 characters of valid text."""
    with pytest.raises(InvalidName, match="cluster"):
        check_cluster(cluster)
    check_cluster("x" * 64)


def test_identifiers_are_those_that_the_design_gives():
    """The low 64 bits of MurmurHash3 x64 128, seed 0, of UTF-8; and their low bits in a smaller space."""
    space = IdentifierSpace()

    assert hexadecimal(space.member("ringcast", "127.0.0.1:5000")) == "b9b0a1554dfa84bd"
    assert hexadecimal(space.key("flights.JFK")) == "10fdf0cc2fbca71d"
    assert IdentifierSpace(6).key("flights.JFK") == 0x1D
    assert hexadecimal(7) == "0000000000000007"


@pytest.mark.parametrize("bits", [0, 65, -1])
def test_an_identifier_space_has_its_limits(bits):
    """1 to 64 bits."""
    with pytest.raises(ValueError, match=f"1 to 64 bits, not {bits}"):
        IdentifierSpace(bits)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_says_whether_it_may_have_happened(kind):
    """Definite: it did not. Indefinite: it may have."""
    assert kind.definite is (kind.__name__ not in INDEFINITE)


def test_refusals_are_one_family():
    """A peer that said no did nothing."""
    refusals = {kind.__name__ for kind in KINDS if issubclass(kind, errors.Refused)}

    assert refusals == {"Refused", "Busy", "NotOwner", "NotMember", "StaleVersion", "TooLarge"}
    assert errors.NotOwner("no").hint is None
