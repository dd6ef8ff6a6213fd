"""Mean, percentiles and standard error of whole numbers that were counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence


def as_json(counts: Mapping[int, int]) -> dict[str, int]:
    """What was counted, in order; keys of JSON are text."""
    return {str(value): number for value, number in sorted(counts.items())}


def total(counts: Iterable[Mapping[str, int]]) -> dict[int, int]:
    """Several counts together; as `as_json` left them."""
    together: dict[int, int] = {}
    for count in counts:
        for value, number in count.items():
            together[int(value)] = together.get(int(value), 0) + number
    return dict(sorted(together.items()))


def mean(counts: Mapping[int, int]) -> float:
    """The mean of what was counted."""
    return sum(value * number for value, number in counts.items()) / sum(counts.values())


def percentile(counts: Mapping[int, int], percent: float) -> int:
    """The least value that so many percent do not exceed (nearest rank)."""
    rank = math.ceil(percent / 100 * sum(counts.values()))
    seen = 0
    for value, number in sorted(counts.items()):
        seen += number
        if seen >= rank:
            return value
    raise ValueError("nothing was counted")


def standard_error(means: Sequence[float]) -> float:
    """Of the mean of several rings, from how far they lie apart; infinite for a single one."""
    if len(means) < 2:
        return math.inf
    middle = sum(means) / len(means)
    return math.sqrt(sum((each - middle) ** 2 for each in means) / (len(means) - 1) / len(means))
