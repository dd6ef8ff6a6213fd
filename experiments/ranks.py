"""Means and nearest-rank percentiles: of what was counted, or of values in order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

ROUNDING = 1e-12
"""So far may a product or sum of shares be off, relative to the whole."""


def mean(counts: Mapping[int, float]) -> float:
    """The mean of values that were counted, or have shares."""
    return sum(value * count for value, count in counts.items()) / sum(counts.values())


def percentile(counts: Mapping[int, float], share: float) -> int:
    """The least value with at least `share` (0 to 1) of all that was counted at or below it.

    Raises ValueError when nothing was.
    """
    total = sum(counts.values())
    seen = 0.0
    for value, count in sorted(counts.items()):
        seen += count
        if seen > 0 and seen >= (share - ROUNDING) * total:
            return value
    raise ValueError("a histogram without rows has no percentile")


def quantile(ordered: Sequence[float], share: float) -> float:
    """The least of sorted values, of which there are some, that `share` (0 to 1) of them do not exceed."""
    return ordered[max(0, math.ceil((share - ROUNDING) * len(ordered)) - 1)]
