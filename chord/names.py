"""Names: what may be looked up, put or published under, and in which form it is hashed."""

from __future__ import annotations

import unicodedata

from chord.errors import InvalidName
from chord.limits import MAX_CLUSTER, MAX_NAME_BYTES


def check_cluster(cluster: str) -> None:
    """Raises InvalidName for what cannot name a cluster: 1 to 64 characters of valid Unicode text."""
    if not 1 <= len(cluster) <= MAX_CLUSTER:
        raise InvalidName(f"cluster {cluster[:24]!r} has {len(cluster)} characters; 1 to {MAX_CLUSTER} are allowed")
    check_text("cluster", cluster)


def check_text(what: str, text: str) -> None:
    """Raises InvalidName for text that cannot be written as UTF-8."""
    try:
        text.encode("utf-8", "strict")
    except UnicodeEncodeError as error:
        raise InvalidName(
            f"{what} {text[:24]!r} is not valid Unicode text (character {error.start + 1} cannot be written as UTF-8)"
        ) from None


def is_normal(name: str) -> bool:
    """Whether a name can be stored under just as it is written."""
    try:
        return normalise(name) == name
    except InvalidName:
        return False


def normalise(name: str) -> str:
    """The NFC form of `name`, which must be 1 to 255 bytes of UTF-8 without control characters.

    Raises InvalidName. A lone surrogate is refused here, before any hash sees it: mmh3's str functions
    crash the interpreter on one.
    """
    if name.isascii() and name.isprintable() and 0 < len(name) <= MAX_NAME_BYTES:
        return name  # as most are, and nothing below would say otherwise
    if len(name) > 4 * MAX_NAME_BYTES:
        raise InvalidName(
            f"name {name[:24]!r}... has {len(name)} characters; at most {MAX_NAME_BYTES} bytes are allowed"
        )
    form = unicodedata.normalize("NFC", name)
    try:
        encoded = form.encode("utf-8", "strict")
    except UnicodeEncodeError as error:
        raise InvalidName(
            f"name {name!r} is not valid Unicode text (character {error.start + 1} cannot be written as UTF-8)"
        ) from None
    if not encoded:
        raise InvalidName("the name is empty; give 1 to 255 bytes of UTF-8")
    if len(encoded) > MAX_NAME_BYTES:
        raise InvalidName(f"name {form[:24]!r}... has {len(encoded)} bytes; at most {MAX_NAME_BYTES} are allowed")
    for position, character in enumerate(form):
        if unicodedata.category(character) == "Cc":
            raise InvalidName(f"name {form!r} holds the control character {character!r} at position {position + 1}")
    return form
