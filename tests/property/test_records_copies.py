"""Copies of one entry: which is kept does not depend on their order, and no lease grows by travelling."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chord.identifiers import IdentifierSpace
from chord.limits import MAX_ENTRIES_PER_PAGE, MAX_PAGE_BYTES, MAX_VALUE_BYTES
from chord.messages import Entry, Page, Put
from chord.records import RecordStore
from tests.records import everything

SPACE = IdentifierSpace(6)
WHOLE = (0, 0)

names = st.sampled_from(["a", "b", "c"])
leases = st.integers(0, 8).map(float)

entries = st.builds(
    Entry,
    name=names,
    entry=st.sampled_from(["x", "y"]),
    version=st.integers(1, 3),
    value=st.sampled_from([b"", b"1", b"2"]),
    lease_s=leases,
    notify=st.sampled_from(["", "10.0.0.9:5000"]),
    deleted=st.booleans(),
    guard_s=leases,
)


def store_of(copies: list[Entry], now: float = 0.0) -> RecordStore:
    store = RecordStore(SPACE)
    for copy in copies:
        store.merge(copy, now)
    return store


def held(store: RecordStore, now: float = 0.0) -> tuple[Entry, ...]:
    return store.arc(*WHOLE, ("", ""), now).entries


def live(store: RecordStore, now: float = 0.0) -> list[Entry]:
    return [entry for name in ("a", "b", "c") for entry in store.page(name, "", now).entries]


@given(st.lists(entries, max_size=8).flatmap(lambda drawn: st.tuples(st.just(drawn), st.permutations(drawn))))
def test_copies_may_arrive_in_any_order(drawn):
    """Merging is commutative and associative: two stores with the same copies hold the same, lease for lease."""
    one, other = store_of(drawn[0]), store_of(drawn[1])

    assert held(one) == held(other)
    assert one.digest(*WHOLE) == other.digest(*WHOLE)


@given(st.lists(entries, max_size=8), st.lists(entries, max_size=8))
def test_copies_may_arrive_twice(first, second):
    """Merging is idempotent: what was taken in once changes nothing when it comes again."""
    store = store_of(first + second)
    before = held(store)

    changed = [store.merge(copy, 0.0) for copy in (*second, *before)]

    assert not any(changed)
    assert held(store) == before


@given(st.lists(entries, min_size=1, max_size=8))
def test_the_highest_version_wins(copies):
    """Of all copies of an entry the highest version is held."""
    store = store_of(copies)

    for entry in held(store):
        versions = [
            copy.version
            for copy in copies
            if (copy.name, copy.entry) == (entry.name, entry.entry) and max(copy.lease_s, copy.guard_s) > 0
        ]
        assert entry.version == max(versions)


@given(st.lists(entries, max_size=8))
def test_no_copy_extends_the_lease_of_its_version(copies):
    """What is held of a version expires no later than the first of the equal copies of it."""
    for entry in held(store_of(copies)):
        equal = [
            copy.lease_s
            for copy in copies
            if (copy.name, copy.entry, copy.version, copy.value, copy.deleted, copy.notify)
            == (entry.name, entry.entry, entry.version, entry.value, entry.deleted, entry.notify)
            and max(copy.lease_s, copy.guard_s) > 0
        ]
        assert entry.lease_s == min(equal)


@given(st.lists(entries, min_size=1, max_size=8))
def test_a_guard_covers_every_version_there_was(copies):
    """What is held is kept for as long as any copy of the entry, of whatever version, may live somewhere."""
    for entry in held(store_of(copies)):
        guards = [
            max(copy.lease_s, copy.guard_s) for copy in copies if (copy.name, copy.entry) == (entry.name, entry.entry)
        ]
        assert entry.guard_s == max(guards)


@given(st.lists(entries, max_size=6), st.lists(entries, max_size=6))
def test_digests_agree_exactly_when_the_contents_do(left, right):
    """Two stores have one digest when they hold the same entries: versions, deletions, values, registrations."""
    one, other = store_of(left), store_of(right)

    def identities(store: RecordStore) -> set[object]:
        return {(one.name, one.entry, one.version, one.deleted, one.value, one.notify) for one in held(store)}

    assert (one.digest(*WHOLE) == other.digest(*WHOLE)) == (identities(one) == identities(other))


@given(st.lists(entries, max_size=8), st.integers(0, 10), st.integers(0, 10))
def test_leases_run_out_and_never_run_back(copies, early, late):
    """Time takes from every lease exactly what passed, and what is no longer live does not live again."""
    early, late = sorted((early, late))
    store = store_of(copies)
    before = {(entry.name, entry.entry): entry.lease_s for entry in live(store, early)}

    store.expire(early)
    store.expire(late)

    after = {(entry.name, entry.entry): entry.lease_s for entry in live(store, late)}
    assert after == {which: lease - (late - early) for which, lease in before.items() if lease > late - early}


@given(st.lists(entries, max_size=8), st.integers(0, 63), st.integers(0, 63))
def test_two_arcs_make_the_circle(copies, low, high):
    """The arcs (low, high] and (high, low] share nothing and leave nothing out."""
    store = store_of(copies)
    one, other = everything(store, low, high, 0.0), everything(store, high, low, 0.0)

    if low == high:
        assert sorted(map(str, one)) == sorted(map(str, held(store)))
    else:
        assert sorted(map(str, one + other)) == sorted(map(str, held(store)))


def pages(ask) -> list[Entry]:
    """Every page after another; checks that each keeps its limits and that all but the last say there is more."""
    found: list[Entry] = []
    while True:
        page: Page = ask(found[-1] if found else None)
        assert len(page.entries) <= MAX_ENTRIES_PER_PAGE
        assert len(page.entries) == 1 or sum(len(entry.value) for entry in page.entries) <= MAX_PAGE_BYTES
        found.extend(page.entries)
        if not page.more:
            return found
        assert page.entries


@given(
    st.lists(
        st.tuples(names, st.integers(0, 99), st.sampled_from([0, MAX_VALUE_BYTES // 2, MAX_VALUE_BYTES])),
        min_size=30,
        max_size=120,
    )
)
def test_pages_together_are_the_whole_listing(drawn):
    """A record and an arc, asked page by page, give every entry once and in order, however large the values are."""
    store = store_of([Entry(name, f"{number:02d}", 1, b"v" * size, 5.0) for name, number, size in drawn])
    kept = sorted({(name, f"{number:02d}") for name, number, _size in drawn})

    arc = pages(lambda last: store.arc(*WHOLE, (last.name, last.entry) if last else ("", ""), 0.0))

    around = sorted(kept, key=lambda place: ((SPACE.key(place[0]) - 1) % SPACE.size, place))
    assert [(entry.name, entry.entry) for entry in arc] == around
    for name in ("a", "b", "c"):
        record = pages(lambda last, name=name: store.page(name, last.entry if last else "", 0.0))
        assert [(entry.name, entry.entry) for entry in record] == [which for which in kept if which[0] == name]


def test_a_page_ends_at_a_thousand_entries():
    """Many small entries end a page by their number."""
    count = 2 * MAX_ENTRIES_PER_PAGE + 1
    store = store_of([Entry("a", f"{number:05d}", 1, b"", 5.0) for number in range(count)])

    found = pages(lambda last: store.page("a", last.entry if last else "", 0.0))

    assert len(store.page("a", "", 0.0).entries) == MAX_ENTRIES_PER_PAGE
    assert [entry.entry for entry in found] == [f"{number:05d}" for number in range(count)]


def test_a_deletion_that_may_be_forgotten_hides_nothing():
    """Once its guard is over a deletion neither outlives a new first version in a replica, nor travels to undo it."""
    owner, replica = RecordStore(SPACE), RecordStore(SPACE)
    owner.put(Put("a", "x", b"old", 1.0), 0.0)
    owner.put(Put("a", "x", deleted=True), 0.0)
    for entry in held(owner):
        replica.merge(entry, 0.0)
    owner.expire(1.0)
    anew, _ = owner.put(Put("a", "x", b"new", 5.0), 1.0)
    forgotten = held(replica, 1.0)

    replica.merge(anew, 1.0)
    for entry in forgotten:
        owner.merge(entry, 1.0)

    assert anew.version == 1
    assert [entry.value for entry in live(replica, 1.0)] == [b"new"]
    assert [entry.value for entry in live(owner, 1.0)] == [b"new"]
