"""The store of one member: versions, leases, tombstones, pages and limits."""

from __future__ import annotations

import pytest

from chord import records
from chord.errors import InvalidName, StaleVersion, TooLarge
from chord.limits import (
    MAX_ENTRIES_PER_PAGE,
    MAX_FRAME_BYTES,
    MAX_LEASE_S,
    MAX_PAGE_BYTES,
    MAX_SERVED,
    MAX_VALUE_BYTES,
    MAX_VERSION,
    MAX_VERSION_STEP,
)
from chord.messages import Entry, Put
from chord.records import RecordStore
from chord.wire import encode
from tests.records import everything
from tests.unit.chord.worlds import SPACE

NOW = 1_000.0


@pytest.fixture
def store() -> RecordStore:
    return RecordStore(SPACE)


def put(store, value=b"v", version=0, lease_s=60.0, name="k1", entry="e", now=NOW, deleted=False):
    return store.put(Put(name, entry, value, lease_s, version, deleted=deleted), now)


def seen(store, now=NOW, name="k1"):
    return [(entry.entry, entry.version, entry.value) for entry in store.page(name, "", now).entries]


# Attempts at a put -------------------------------------------------------------------------------------------------


def attempt(store, client, number, value=b"v", version=0, deleted=False):
    put = Put("k1", "e", value, 60.0, version, deleted=deleted, serial=(client, number))
    return store.put(put, NOW)


def test_an_attempt_at_a_put_that_has_happened_changes_nothing(store):
    """Neither the one that was answered, nor one of before that comes when its client has put something else."""
    assert attempt(store, 7, 1, b"old")[0].version == 1
    assert attempt(store, 7, 1, b"old") == (store.find("k1", "e", NOW), False)
    assert attempt(store, 7, 2, deleted=True)[0].version == 2
    assert attempt(store, 7, 1, b"old") == (store.find("k1", "e", NOW), False)
    assert seen(store) == []
    assert attempt(store, 7, 3, b"new")[0].version == 3
    assert attempt(store, 7, 2, deleted=True)[0].version == 3
    assert seen(store) == [("e", 3, b"new")]


def test_an_attempt_at_an_older_version_is_no_error_where_it_has_happened(store):
    """Its client was not told so; another client that offers that version is."""
    attempt(store, 7, 1, b"old", version=3)
    attempt(store, 8, 1, b"new", version=4)

    assert attempt(store, 7, 1, b"old", version=3)[0].version == 4
    with pytest.raises(StaleVersion):
        attempt(store, 9, 1, b"other", version=4)


def test_the_last_puts_of_a_few_clients_are_remembered_and_travel_with_the_entry(store):
    """Of each client the last one, and of the clients those that put last; another process knows the same."""
    for client in range(1, MAX_SERVED + 2):
        attempt(store, client, 1)
        attempt(store, client, 2)
    put(store)  # by nobody that numbers its puts
    other = RecordStore(SPACE)
    other.merge(store.find("k1", "e", NOW), NOW)

    for held in (store, other):
        version = held.find("k1", "e", NOW).version
        assert held.find("k1", "e", NOW).served == tuple((client, 2) for client in range(MAX_SERVED + 1, 1, -1))
        assert attempt(held, 2, 2)[0].version == version
        assert attempt(held, 1, 2)[0].version == version + 1


# Versions ----------------------------------------------------------------------------------------------------------


def test_the_owner_counts_versions(store):
    """Version 0 asks for one more than is held; deletions count too."""
    assert put(store)[0].version == 1
    assert put(store, b"w")[0].version == 2
    assert put(store, deleted=True, lease_s=0.0)[0].version == 3
    assert put(store, b"x")[0].version == 4
    assert seen(store) == [("e", 4, b"x")]


def test_an_explicit_version_must_be_newer(store):
    """An older one, or the same with other content, is refused; the same once more is no change."""
    put(store, b"v", version=5)

    assert put(store, b"v", version=5)[0].version == 5
    for value, version in ((b"w", 5), (b"v", 4), (b"w", 1)):
        with pytest.raises(StaleVersion, match=f"version {version} is not newer than 5"):
            put(store, value, version=version)
    assert put(store, b"w", version=6)[1]


def test_there_is_a_last_version(store):
    """Counting beyond it is refused, as no peer could read it."""
    store.merge(Entry("k1", "e", MAX_VERSION, b"v", 60.0), NOW)

    with pytest.raises(TooLarge, match=f"{MAX_VERSION} is the last version there is"):
        put(store)
    assert seen(store) == [("e", MAX_VERSION, b"v")]


@pytest.mark.parametrize("version", [0, MAX_VERSION])
def test_what_has_the_last_version_can_be_deleted(store, version):
    """The deletion wins over it, here and in every copy, until nobody can hold it any more."""
    last = Entry("k1", "e", MAX_VERSION, b"v", 60.0)
    store.merge(last, NOW)

    deleted, changed = put(store, b"", version=version, deleted=True, lease_s=0.0)

    assert (deleted.version, deleted.deleted, changed) == (MAX_VERSION, True, True)
    assert not store.merge(last, NOW)
    assert seen(store) == []
    store.expire(NOW + 60.0)
    assert put(store, now=NOW + 60.0)[0].version == 1


@pytest.mark.parametrize("held", [0, 5, MAX_VERSION_STEP])
def test_a_version_far_beyond_the_one_held_is_refused(store, held):
    """One put cannot use up the versions of an entry; the error says what is held and what was offered."""
    if held:
        store.merge(Entry("k1", "e", held, b"v", 60.0), NOW)
    before = seen(store)

    for offered in (held + MAX_VERSION_STEP + 1, MAX_VERSION):
        for deleted in (False, True):
            with pytest.raises(TooLarge, match=f"version {offered} was offered and {held} is held") as raised:
                put(store, b"w", version=offered, deleted=deleted)
            assert raised.value.definite
    assert seen(store) == before
    assert put(store, b"w", version=held + MAX_VERSION_STEP)[1]


def test_a_put_again_does_not_extend_its_lease(store):
    """Of two copies of one version the smaller remaining lease is kept; a new version extends it."""
    put(store, version=1, lease_s=10.0)
    put(store, version=1, lease_s=60.0)
    assert store.page("k1", "", NOW).entries[0].lease_s == 10.0

    put(store, version=2, lease_s=60.0)
    assert store.page("k1", "", NOW).entries[0].lease_s == 60.0


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(
    ("one", "other", "winner"),
    [
        (Entry("k1", "e", 1, b"a", 60.0), Entry("k1", "e", 2, b"b", 5.0), (2, b"b")),
        (Entry("k1", "e", 2, b"a", 60.0), Entry("k1", "e", 2, b"b", 60.0), (2, b"b")),
        (Entry("k1", "e", 2, b"z", 60.0), Entry("k1", "e", 2, b"", 0.0, deleted=True, guard_s=60.0), None),
        (Entry("k1", "e", 3, b"z", 60.0), Entry("k1", "e", 2, b"", 0.0, deleted=True, guard_s=60.0), (3, b"z")),
    ],
)
def test_copies_merge_to_the_same_in_any_order(store, one, other, winner, swap):
    """The higher version wins; of two halves that counted to the same, a deletion, then the greater value."""
    for entry in (other, one) if swap else (one, other):
        store.merge(entry, NOW)

    assert seen(store) == ([("e", *winner)] if winner else [])


def test_a_copy_held_already_is_no_change(store):
    """Merging twice says so, and an older copy changes nothing."""
    entry = Entry("k1", "e", 2, b"a", 60.0)

    assert store.merge(entry, NOW)
    assert not store.merge(entry, NOW)
    assert not store.merge(Entry("k1", "e", 1, b"old", 99.0), NOW)
    assert seen(store) == [("e", 2, b"a")]


# Leases and the dead -----------------------------------------------------------------------------------------------


def test_an_entry_ends_with_its_lease(store):
    """At the end of the lease it is not seen any more, and reported as lapsed once."""
    put(store, lease_s=10.0)
    assert seen(store, NOW + 9.9) == [("e", 1, b"v")]
    assert seen(store, NOW + 10.0) == []

    (lapsed,) = store.expire(NOW + 10.0)

    assert (lapsed.entry, lapsed.version, lapsed.deleted) == ("e", 1, True)
    assert store.expire(NOW + 11.0) == []
    assert everything(store, 0, 0, NOW) == []


def test_a_tombstone_stays_as_long_as_an_old_copy_may_live(store):
    """A deletion is kept for the longest lease that any version had, so that no copy brings it back."""
    put(store, lease_s=100.0)
    put(store, deleted=True, lease_s=0.0)
    old = Entry("k1", "e", 1, b"v", 50.0)

    store.expire(NOW + 50.0)
    assert not store.merge(old, NOW + 50.0)
    assert seen(store, NOW + 50.0) == []
    store.expire(NOW + 100.0)

    assert everything(store, 0, 0, NOW) == []


def test_a_shorter_lease_does_not_shorten_the_guard(store):
    """A later version with a short lease ends, and an earlier copy with a long one stays hidden."""
    put(store, b"long", lease_s=100.0)
    put(store, b"short", lease_s=1.0)
    store.expire(NOW + 2.0)

    assert not store.merge(Entry("k1", "e", 1, b"long", 98.0), NOW + 2.0)
    assert seen(store, NOW + 2.0) == []


def test_deleting_what_is_not_there_is_no_change(store):
    """Version 0 and nothing kept."""
    entry, changed = put(store, deleted=True, lease_s=0.0)

    assert (entry.version, entry.deleted, changed) == (0, True, False)
    assert everything(store, 0, 0, NOW) == []


def test_leases_travel_as_what_remains_of_them(store):
    """Sent 4 s later, an entry of 10 s has 6 s left; merged elsewhere, it ends when the first one does."""
    put(store, lease_s=10.0)
    (entry,) = store.page("k1", "", NOW + 4.0).entries
    other = RecordStore(SPACE)

    other.merge(entry, 77.0)

    assert entry.lease_s == 6.0
    assert seen(other, 77.0 + 5.9) == [("e", 1, b"v")]
    assert seen(other, 77.0 + 6.0) == []


# Pages and arcs ----------------------------------------------------------------------------------------------------


def test_a_page_ends_at_its_limit_of_entries(store):
    """The rest follows after the last one, in order."""
    for number in range(MAX_ENTRIES_PER_PAGE + 2):
        put(store, b"", entry=f"{number:05}")

    first = store.page("k1", "", NOW)
    second = store.page("k1", first.entries[-1].entry, NOW)

    assert (len(first.entries), first.more, len(second.entries), second.more) == (MAX_ENTRIES_PER_PAGE, True, 2, False)
    assert second.entries[0].entry == f"{MAX_ENTRIES_PER_PAGE:05}"


def test_a_page_ends_at_its_limit_of_bytes(store):
    """Large values make short pages, none of them empty."""
    for number in range(2 * MAX_PAGE_BYTES // MAX_VALUE_BYTES):
        put(store, bytes(MAX_VALUE_BYTES), entry=f"{number:05}")

    after, pages = "", []
    while True:
        page = store.page("k1", after, NOW)
        pages.append(page)
        if not page.more:
            break
        after = page.entries[-1].entry

    assert sum(len(page.entries) for page in pages) == 2 * MAX_PAGE_BYTES // MAX_VALUE_BYTES
    assert all(sum(len(entry.value) for entry in page.entries) <= MAX_PAGE_BYTES for page in pages)


def test_an_arc_holds_what_lies_in_it(store):
    """(low, high], over the top of the circle too, dead entries included, in order of key, name and entry."""
    for key in (10, 100, 500, 1000):
        put(store, name=f"k{key}")
    put(store, name="k500", entry="dead")
    put(store, name="k500", entry="dead", deleted=True, lease_s=0.0)

    def arc(low, high, after=("", "")):
        return [(entry.name, entry.entry) for entry in store.arc(low, high, after, NOW).entries]

    assert arc(10, 500) == [("k100", "e"), ("k500", "dead"), ("k500", "e")]
    assert arc(500, 10) == [("k1000", "e"), ("k10", "e")]
    assert arc(500, 10, ("k1000", "e")) == [("k10", "e")]
    assert arc(500, 10, ("k10", "e")) == []
    assert arc(10, 500, ("k500", "dead")) == [("k500", "e")]
    assert len(arc(7, 7)) == 5


def test_two_stores_with_the_same_entries_have_one_digest(store):
    """Whatever the order; another version, value or deletion is another digest."""
    other = RecordStore(SPACE)
    for one, keys in ((store, (10, 20)), (other, (20, 10))):
        for key in keys:
            put(one, name=f"k{key}")
    assert store.digest(0, 1023) == other.digest(0, 1023) != 0
    assert store.digest(10, 15) == 0

    put(other, b"w", name="k20")

    assert store.digest(0, 1023) != other.digest(0, 1023)
    assert store.digest(5, 15) == other.digest(5, 15)


def test_registered_addresses_are_those_of_live_entries(store):
    """Each once, in order, and not after the lease."""
    for entry, notify, lease_s in (("a", "x:2", 60.0), ("b", "x:1", 60.0), ("c", "x:1", 60.0), ("d", "x:3", 1.0)):
        store.put(Put("k1", entry, b"", lease_s, notify=notify), NOW)

    assert store.registered("k1", NOW) == ["x:1", "x:2", "x:3"]
    assert store.registered("k1", NOW + 2.0) == ["x:1", "x:2"]
    assert store.registered("k2", NOW) == []


# Limits ------------------------------------------------------------------------------------------------------------


def test_a_record_has_a_limit_of_entries(store, monkeypatch):
    """One more is refused, a new version of an old one is not."""
    monkeypatch.setattr(records, "MAX_ENTRIES_PER_RECORD", 2)
    put(store, entry="a")
    put(store, entry="b")

    with pytest.raises(TooLarge, match="entry 'c' refused: record 'k1' holds 2 entries already"):
        put(store, entry="c")
    put(store, b"w", entry="a")


def test_a_process_has_a_limit_of_records(store, monkeypatch):
    """One more is refused, by put and by merge."""
    monkeypatch.setattr(records, "MAX_RECORDS", 1)
    put(store, name="k1")

    with pytest.raises(TooLarge, match="record 'k2' refused: this process holds 1 records already"):
        put(store, name="k2")
    with pytest.raises(TooLarge):
        store.merge(Entry("k2", "e", 1, b"", 1.0), NOW)


def test_a_name_that_cannot_be_stored_leaves_nothing_behind(store):
    """A copy under such a name is refused, and the store goes on expiring what it holds."""
    put(store)
    with pytest.raises(InvalidName):
        store.merge(Entry("a\x00b", "e", 1, b"v", 60.0), NOW)

    assert [entry.name for entry in store.expire(NOW + 61.0)] == ["k1"]


@pytest.mark.parametrize("now", [0.0, 6.5e6, 3e8])
def test_the_longest_lease_can_travel_at_any_time(store, now):
    """What is left of a lease is never more than a receiver takes, however large the clock and its rounding are."""
    for number in range(100):
        entry, _ = put(store, lease_s=MAX_LEASE_S, name=f"k{number}", now=now + number / 7)

        assert entry.lease_s <= MAX_LEASE_S
        assert entry.guard_s <= MAX_LEASE_S


def test_a_page_fits_a_frame_whatever_its_entries_are_written_in(store):
    """Sizes are counted in bytes, not in characters."""
    for number in range(MAX_ENTRIES_PER_PAGE):
        store.merge(Entry("k1", f"{number:04d}", 1, b"", 60.0, notify="\U0001f980" * 255), NOW)

    assert len(encode(store.page("k1", "", NOW))) < MAX_FRAME_BYTES - 1_000


def test_a_store_has_a_limit_in_bytes(monkeypatch):
    """Beyond it a put is refused, until leases have run out; replacing a value by a shorter one is not."""
    monkeypatch.setattr(records, "MAX_STORE_BYTES", 4_000)
    store = RecordStore(SPACE)
    for number in range(3):
        store.put(Put("a", str(number), bytes(700), 10.0), NOW)

    with pytest.raises(TooLarge, match="this process holds 3636 bytes already"):
        store.put(Put("a", "3", bytes(700), 10.0), NOW)
    store.put(Put("a", "0", b"", 10.0), NOW)
    store.put(Put("a", "3", bytes(100), 10.0), NOW)
    store.expire(NOW + 11.0)

    store.put(Put("a", "4", bytes(3_000), 10.0), NOW + 11.0)
