"""A record's owner and its replicas against a dictionary: copies of any age, from anywhere, change nothing it shows."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from chord.errors import StaleVersion
from chord.identifiers import IdentifierSpace
from chord.messages import Entry, Put
from chord.records import RecordStore
from tests.records import everything

NAME = "record"
WHOLE = (0, 0)

entry_ids = st.sampled_from(["x", "y"])
stores = st.integers(0, 2)


class Replication(RuleBasedStateMachine):
    """Store 0 is the owner, the others are replicas. Copies travel at once, from any to any, as often as drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.stores = [RecordStore(IdentifierSpace(6)) for _ in range(3)]
        self.model: dict[str, tuple[bytes, float]] = {}
        self.ever: dict[tuple[str, bytes], float] = {}
        self.puts = 0
        self.letters: list[Entry] = []

    @property
    def owner(self) -> RecordStore:
        return self.stores[0]

    def shown(self, store: RecordStore) -> dict[str, tuple[bytes, float]]:
        page = store.page(NAME, "", self.now)
        return {entry.entry: (entry.value, self.now + entry.lease_s) for entry in page.entries}

    @rule(entry=entry_ids, lease=st.integers(1, 8))
    def put(self, entry, lease):
        self.puts += 1
        value = b"%d" % self.puts
        stored, changed = self.owner.put(Put(NAME, entry, value, float(lease)), self.now)
        assert changed
        assert stored.value == value
        self.model[entry] = value, self.now + lease
        self.ever[entry, value] = self.now + lease

    @rule(entry=entry_ids)
    def delete(self, entry):
        _, changed = self.owner.put(Put(NAME, entry, deleted=True), self.now)
        known = self.model.pop(entry, None)
        assert changed == (known is not None and known[1] > self.now)

    @rule(entry=entry_ids, behind=st.integers(0, 2))
    def put_an_old_version(self, entry, behind):
        held = [one for one in everything(self.owner, *WHOLE, self.now) if one.entry == entry]
        if held and held[0].version > behind:
            stale = Put(NAME, entry, b"stale", 9.0, version=held[0].version - behind)
            with pytest.raises(StaleVersion, match="is not newer than"):
                self.owner.put(stale, self.now)

    @rule(source=stores, into=stores)
    def copy_everything(self, source, into):
        for entry in everything(self.stores[source], *WHOLE, self.now):
            self.stores[into].merge(entry, self.now)

    @rule(source=stores)
    def replicate_everything(self, source):
        for into in (0, 1, 2):
            self.copy_everything(source, into)

    @rule(seconds=st.integers(1, 4))
    def wait(self, seconds):
        self.now += seconds

    @rule(which=stores)
    def expire(self, which):
        self.stores[which].expire(self.now)

    @invariant()
    def the_owner_shows_what_was_put(self):
        live = {entry: shown for entry, shown in self.model.items() if shown[1] > self.now}
        assert self.shown(self.owner) == live

    @invariant()
    def replicas_show_nothing_that_was_not_put_nor_for_longer(self):
        for store in self.stores:
            for entry, (value, expires) in self.shown(store).items():
                assert expires <= self.ever[entry, value]

    @invariant()
    def after_a_copy_from_the_owner_a_replica_shows_the_same(self):
        for replica in self.stores[1:]:
            probe = RecordStore(IdentifierSpace(6))
            for source in (replica, self.owner):
                for entry in everything(source, *WHOLE, self.now):
                    probe.merge(entry, self.now)
            assert self.shown(probe) == self.shown(self.owner)


TestReplication = Replication.TestCase
TestReplication.settings = settings(max_examples=150, stateful_step_count=40)
