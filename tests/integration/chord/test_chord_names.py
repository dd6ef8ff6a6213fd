"""Names: which ones work, which are refused in one line, and that no name harms a node."""

from __future__ import annotations

import json
import unicodedata

import pytest

from chord.client import RingClient
from chord.errors import InvalidName
from tests.integration.chord.rings import dht, hash64, owners_are_right

LEASE_S = 60.0


@pytest.fixture(scope="module")
def client(six):
    with RingClient(six.addresses(), patience_s=20.0) as client:
        yield client


def still_alive(ring):
    """Every node is there and answers."""
    assert all(node.process.poll() is None for node in ring.nodes)
    owners_are_right(ring.addresses()[0], ring.addresses(), ["after"])


@pytest.mark.parametrize(
    "name",
    [
        "A",
        "AB",
        " ",
        "a b",
        "x" * 255,
        "é" * 127,
        "😀" * 63,
        "👩‍👩‍👧",
        "日本語",
        "a/b#c",
        "%00",
        "\u200b",
        "-n",
        "\ufeff",
        "\U0010ffff",
    ],
    ids=ascii,
)
def test_a_good_name_is_found_and_kept(six, client, name):
    """1 to 255 bytes of UTF-8 without control characters: looked up under its hash, stored, read back."""
    assert client.lookup(name).key == hash64(unicodedata.normalize("NFC", name).encode())
    client.put(name, "e", name.encode(), LEASE_S)
    assert [entry.value for entry in client.get(name)] == [name.encode()]
    still_alive(six)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "the name is empty; give 1 to 255 bytes of UTF-8"),
        ("x" * 256, "has 256 bytes; at most 255 are allowed"),
        ("é" * 128, "has 256 bytes; at most 255 are allowed"),
        ("x" * 100_000, "has 100000 characters; at most 255 bytes are allowed"),
        ("\ud800", "is not valid Unicode text"),
        ("a\udcffb", r"is not valid Unicode text \(character 2 cannot be written as UTF-8\)"),
        ("a\0b", "holds the control character '.x00' at position 2"),
        ("line\nfeed", "holds the control character '.n' at position 5"),
        ("\x7f", "holds the control character"),
        ("\x85", "holds the control character"),
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_a_bad_name_is_refused_before_anything_is_sent(six, client, name, said):
    """What cannot be a name is refused by every call with the same clear error."""
    for ask in (
        lambda: client.lookup(name),
        lambda: client.get(name),
        lambda: client.put(name, "e", b"", LEASE_S),
        lambda: client.delete(name, "e"),
    ):
        with pytest.raises(InvalidName, match=said):
            ask()
    still_alive(six)


def test_a_name_is_not_its_prefix(client):
    """Records and owners of `A` and `AB` have nothing to do with one another."""
    client.put("A", "e", b"of A", LEASE_S)
    client.put("AB", "e", b"of AB", LEASE_S)
    client.delete("A", "e")

    assert client.get("A") == []
    assert [entry.value for entry in client.get("AB")] == [b"of AB"]
    assert client.lookup("A").key != client.lookup("AB").key


def test_two_forms_of_a_name_are_one(client):
    """The composed and the decomposed form have one key and one record."""
    composed, decomposed = "caf\u00e9", "cafe\u0301"

    client.put(decomposed, "e", b"one", LEASE_S)

    assert client.lookup(composed).key == client.lookup(decomposed).key
    assert client.get(composed)[0].value == b"one"


@pytest.mark.parametrize(
    "arguments",
    [
        ["lookup", b"\xff"],
        ["lookup", "good", b"ba\xffd"],
        ["lookup", ""],
        ["lookup", "x" * 256],
        ["lookup", "a\nb"],
        ["put", b"\xff", "value", "--lease", "5"],
        ["get", b"\xff"],
        ["delete", b"\xff"],
    ],
    ids=ascii,
)
def test_a_bad_name_on_the_command_line_is_one_line(six, arguments):
    """A name that the shell passes and that is none: one line on stderr, exit code 2."""
    done = dht(*arguments, via=six.addresses()[0])

    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    still_alive(six)


@pytest.mark.parametrize("value", ["plain", "日本", "😀", b"\xff\xfe"], ids=ascii)
def test_any_value_on_the_command_line_comes_back(six, value):
    """A value is bytes: what is no text comes back in base64."""
    assert dht("put", "cli/value", value, "--lease", "60", via=six.addresses()[0]).code == 0

    (entry,) = json.loads(dht("get", "cli/value", "--json", via=six.addresses()[0]).out)

    assert entry.get("value", entry.get("value_base64")) == ("//4=" if isinstance(value, bytes) else value)


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_names_need_no_locale(six, locale, monkeypatch):
    """A name in UTF-8 works under any locale."""
    monkeypatch.setenv("LC_ALL", locale)
    monkeypatch.delenv("PYTHONUTF8", raising=False)

    done = dht("lookup", "日本", "--json", via=six.addresses()[0])

    assert done.code == 0, done.err
    assert json.loads(done.out)[0]["key"] == f"{hash64('日本'.encode()):016x}"
