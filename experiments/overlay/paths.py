"""How long ways through a snapshot are: those that lookups take, and the shortest that the same pointers allow.

Hops are forwards until somebody names the owner, of a lookup from any member for any key, each as likely as any other.
All keys of one owner have the same way, so a ring of N members has N * N ways, weighted by how many keys each owner
has; of a large one the ways to a sample of keys are counted, from every member.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from experiments.overlay.routing import Router
from experiments.overlay.told import Told

EXACT_UP_TO = 1024
"""Members of a ring whose every way is counted."""

KEYS = 512
"""Sampled of a larger one."""


@dataclass(slots=True)
class Paths:
    """Shares of lookups by hops; `shortest` leaves out what cannot be reached at all, whose share is `unreachable`.

    `misled`: the share of lookups that end at a member which names a wrong owner, as in a ring that is not ideal.

    `passed`: for each member the share of lookups that are passed through it, their first and last member included.
    """

    exact: bool
    keys: int
    greedy: dict[int, float]
    shortest: dict[int, float]
    unreachable: float = 0.0
    misled: float = 0.0
    passed: list[float] = field(default_factory=list)


def count(router: Router, seed: int = 1, told: Told = lambda *_: None) -> Paths:
    """Count the ways. Raises BadSnapshot when the tables lead some lookup round in a circle."""
    size = len(router.ids)
    exact = size <= EXACT_UP_TO
    keys = list(_weighted(router) if exact else _sampled(router, seed))
    greedy: defaultdict[int, float] = defaultdict(float)
    shortest: defaultdict[int, float] = defaultdict(float)
    passed = [0.0] * size
    unreachable = misled = 0.0
    known_by = _known_by(router)
    for number, (key, weight) in enumerate(keys):
        share = weight / size
        hops, through = router.tree_to(key)
        for at, taken in enumerate(hops):
            greedy[taken] += share
            passed[at] += through[at] * share
        ends = [at for at, taken in enumerate(hops) if taken == 0]
        right = [at for at in ends if router.named_owner(at, key) == router.owner(key)]
        misled += share * sum(through[at] for at in ends if at not in right)
        lengths = _distances(known_by, right)
        for length in lengths:
            if length < 0:
                unreachable += share
            else:
                shortest[length] += share
        told("counting ways", number + 1, len(keys))
    return Paths(
        exact, len(keys), dict(sorted(greedy.items())), dict(sorted(shortest.items())), unreachable, misled, passed
    )


def _weighted(router: Router) -> Iterator[tuple[int, float]]:
    """A key of each owner, and the share of all keys that it stands for."""
    arcs = router.arcs()
    whole = sum(arcs)
    return ((identifier, arc / whole) for identifier, arc in zip(router.ids, arcs, strict=True))


def _sampled(router: Router, seed: int) -> Iterator[tuple[int, float]]:
    rng = random.Random(f"{seed}/overlay-keys")
    return ((rng.randrange(router.size), 1 / KEYS) for _ in range(KEYS))


def _known_by(router: Router) -> list[list[int]]:
    """For each member those that know it."""
    known_by: list[list[int]] = [[] for _ in router.ids]
    for at, known in enumerate(router.known):
        for each in known:
            known_by[each].append(at)
    return known_by


def _distances(known_by: list[list[int]], targets: list[int]) -> list[int]:
    """The fewest hops from each member to the nearest of the targets; -1 where none leads there."""
    found = [-1] * len(known_by)
    waiting = deque(targets)
    for target in targets:
        found[target] = 0
    while waiting:
        at = waiting.popleft()
        for before in known_by[at]:
            if found[before] < 0:
                found[before] = found[at] + 1
                waiting.append(before)
    return found
