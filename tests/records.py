"""What a store of records holds, for tests that compare stores."""

from __future__ import annotations

from chord.messages import Entry
from chord.records import RecordStore


def everything(store: RecordStore, low: int, high: int, now: float) -> list[Entry]:
    """Every entry of the arc (low, high], dead ones too; at most a page of them."""
    page = store.arc(low, high, ("", ""), now)
    assert not page.more
    return list(page.entries)
