"""What the two projects that worked like this published of their own latencies, on their own machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Published(NamedTuple):
    """Application latencies in milliseconds; None was not published, or cannot be told from their files."""

    source: str
    what: str
    p50_ms: float
    p95_ms: float | None
    p99_ms: float | None


AUSTINJHUNT = "austinjhunt, assignments 1 and 3"
RICH_JAVA_DEV = "rich-java-dev"

THEIRS = (
    Published(AUSTINJHUNT, "direct, 8 hosts", 1.7, 7.3, None),
    Published(AUSTINJHUNT, "brokered, 8 hosts", 1.9, 2.4, None),
    Published(AUSTINJHUNT, "direct, 27 hosts", 2.3, 17.6, None),
    Published(AUSTINJHUNT, "brokered, 27 hosts", 7.2, 32.6, None),
    Published(AUSTINJHUNT, "direct, 64 hosts", 3.6, 767.0, None),
    Published(AUSTINJHUNT, "brokered, 64 hosts", 1790.0, 2540.0, None),
    Published(RICH_JAVA_DEV, "direct, 5 pairs", 1.07, None, 55.0),
    Published(RICH_JAVA_DEV, "brokered, 5 pairs", 1.99, None, 80.0),
    Published(RICH_JAVA_DEV, "direct, 10 pairs", 1.62, None, 89.0),
    Published(RICH_JAVA_DEV, "brokered, 10 pairs", 2.52, None, 574.0),
)


def lines() -> Iterator[str]:
    """As rows below ours, each source named."""
    source = ""
    for row in THEIRS:
        if row.source != source:
            source = row.source
            yield f"from the files of {source}"
        numbers = (row.p50_ms, row.p95_ms, row.p99_ms)
        shown = " ".join(f"{'':7}" if number is None else f"{number:7.2f}" for number in numbers)
        yield f"{row.what:20} {shown}".rstrip()
