"""The names that a cell looks up: the same ones for a seed, wherever it runs."""

from __future__ import annotations

import random
from collections.abc import Iterator


def names(seed: int) -> Iterator[str]:
    """Random names without end."""
    rng = random.Random(f"{seed}/names")
    while True:
        yield f"sweep/{rng.getrandbits(48):x}"
