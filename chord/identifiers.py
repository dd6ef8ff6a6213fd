"""Identifiers: one interface over the hash that places names and members on the ring."""

from __future__ import annotations

from dataclasses import dataclass

import mmh3

from chord.names import normalise


def between(low: int, x: int, high: int) -> bool:
    """Whether x lies on the ring walk from low to high, both excluded.

    low == high means the whole ring but that one point. Zave 2017, `between`; Stoica et al. 2003, x in (low, high).
    """
    if low < high:
        return low < x < high
    return x > low or x < high


def between_right(low: int, x: int, high: int) -> bool:
    """Whether x lies on the ring walk from low (excluded) to high (included).

    low == high means the whole ring. Stoica et al. 2003, section IV: x in (low, high].
    """
    if low < high:
        return low < x <= high
    return x > low or x <= high


@dataclass(frozen=True, slots=True)
class IdentifierSpace:
    """The circle of 2**bits identifiers. Tests use 6 to 10 bits to force wrap-around and collisions."""

    bits: int = 64

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 64:
            raise ValueError(f"an identifier has 1 to 64 bits, not {self.bits}")

    @property
    def size(self) -> int:
        """How many identifiers there are."""
        return 1 << self.bits

    def hash_bytes(self, data: bytes) -> int:
        """The low `bits` bits of MurmurHash3 x64 128 with seed 0."""
        return mmh3.mmh3_x64_128_uintdigest(data, 0) & (self.size - 1)

    def key(self, name: str) -> int:
        """The key of a name, in its NFC form. Raises InvalidName."""
        return self.hash_bytes(normalise(name).encode("utf-8"))

    def member(self, cluster: str, address: str, index: int = 0) -> int:
        """The identifier of virtual node `index` of the process advertised at `address` (host:port)."""
        return self.hash_bytes(f"{cluster}/{address}/{index}".encode())

    def distance(self, start: int, end: int) -> int:
        """Steps on the ring walk from start to end, 0 to size - 1."""
        return (end - start) & ((1 << self.bits) - 1)  # `size` would be a call more, in every step of every lookup

    def arc_length(self, low: int, high: int) -> int:
        """How many keys lie in (low, high]: all there are if both are the same."""
        return self.distance(low, high) or self.size

    def finger_start(self, identifier: int, index: int) -> int:
        """Where finger `index` (0 to bits - 1) of a member begins. Stoica et al. 2003, table I."""
        return (identifier + (1 << index)) & (self.size - 1)


def hexadecimal(identifier: int) -> str:
    """An identifier as people and JSON see it: 16 hexadecimal digits."""
    return f"{identifier:016x}"
