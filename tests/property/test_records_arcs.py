"""Arcs of a store against a second one that goes through everything: what lies in them, their order, their digests."""

from __future__ import annotations

from functools import reduce
from operator import xor

from hypothesis import given
from hypothesis import strategies as st

from chord import ring_order
from chord.identifiers import IdentifierSpace, between_right
from chord.messages import Entry, Put
from chord.records import RecordStore
from chord.ring_order import RingOrder

SPACE = IdentifierSpace(6)
NAMES = [f"name {number}" for number in range(80)]
"""More of them than keys, so that several share one."""

identifiers = st.integers(0, SPACE.size - 1)
puts = st.builds(
    Put,
    st.sampled_from(NAMES),
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from([b"", b"1"]),
    st.sampled_from([1.0, 2.0, 3.0]),
    deleted=st.booleans(),
)
steps = st.lists(st.tuples(puts, st.sampled_from([0.0, 0.0, 0.5])), max_size=120)


def walked(store: RecordStore, low: int, high: int, after: tuple[str, str], now: float) -> list[Entry]:
    """Every entry behind `after`, found page by page."""
    found: list[Entry] = []
    while True:
        page = store.arc(low, high, after, now)
        found.extend(page.entries)
        if not page.more:
            return found
        after = page.entries[-1].name, page.entries[-1].entry


def in_ring_order(entries: list[Entry], low: int, high: int) -> list[Entry]:
    """Those with a key in (low, high], sorted in the plainest way."""
    inside = [entry for entry in entries if between_right(low, SPACE.key(entry.name), high)]
    return sorted(
        inside,
        key=lambda entry: ((SPACE.key(entry.name) - low - 1) % SPACE.size, entry.name, entry.entry),
    )


@given(steps, identifiers, identifiers, st.integers(0, 200))
def test_an_arc_is_what_lies_in_it_whatever_came_and_went(drawn, low, high, behind):
    """After puts, deletions and leases that ran out: the entries of an arc, in order, from any of them on."""
    store, now = RecordStore(SPACE), 0.0
    for put, pause_s in drawn:
        now += pause_s
        store.put(put, now)
        if pause_s:
            store.expire(now)
    everything = [held for name in NAMES for entry in "xyz" if (held := store.find(name, entry, now))]
    expected = in_ring_order(everything, low, high)

    assert walked(store, low, high, ("", ""), now) == expected
    if expected:
        last = expected[behind % len(expected)]
        assert walked(store, low, high, (last.name, last.entry), now) == expected[behind % len(expected) + 1 :]


@given(steps, identifiers, identifiers)
def test_a_digest_tells_what_is_held_not_how_it_came(drawn, low, high):
    """A store that has forgotten much has the digest of one that was given just what is left."""
    store, now = RecordStore(SPACE), 0.0
    for put, pause_s in drawn:
        now += pause_s
        store.put(put, now)
        store.expire(now)
    other = RecordStore(SPACE)
    for entry in walked(store, low, high, ("", ""), now):
        other.merge(entry, now)

    assert store.digest(low, high) == other.digest(0, 0) == other.digest(low, high)
    assert store.digest(0, 0) == store.digest(low, high) ^ (store.digest(high, low) if low != high else 0)


class Plain:
    """The same as RingOrder, without any order."""

    def __init__(self) -> None:
        self.keys: dict[str, int] = {}
        self.digests: dict[str, int] = {}

    def digest(self, low: int, high: int) -> int:
        inside = [self.digests[name] for name, key in self.keys.items() if between_right(low, key, high)]
        return reduce(xor, inside, 0)

    def names(self, low: int, high: int) -> list[str]:
        inside = [(key, name) for name, key in self.keys.items() if between_right(low, key, high)]
        return [name for key, name in sorted(inside, key=lambda pair: ((pair[0] - low - 1) % SPACE.size, pair[1]))]

    def by_key(self, low: int, high: int) -> list[tuple[int, int]]:
        keys = dict.fromkeys(self.keys[name] for name in self.names(low, high))
        return [(key, self.digest((key - 1) % SPACE.size, key)) for key in keys]


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 7)), max_size=200), identifiers, identifiers)
def test_blocks_that_are_split_and_emptied_keep_their_order(drawn, low, high):
    """With blocks of four keys: names put in, changed and taken out again."""
    order, plain = RingOrder(), Plain()
    size, ring_order.BLOCK = ring_order.BLOCK, 4
    try:
        for name, digest in drawn:
            key = SPACE.key(name)
            if name not in plain.keys:
                order.add(key, name)
                plain.keys[name], plain.digests[name] = key, 0
            order.change(key, digest ^ plain.digests[name])
            plain.digests[name] = digest
            if digest == 0:
                order.remove(key, name)
                del plain.keys[name]
    finally:
        ring_order.BLOCK = size

    assert order.digest(low, high) == plain.digest(low, high)
    assert list(order.names(low, high, (low + 1) % SPACE.size, "")) == plain.names(low, high)
    assert list(order.digests(low, high)) == plain.by_key(low, high)
    assert order.key_after(low) == next((key for key, _ in plain.by_key(low, low)), None)
