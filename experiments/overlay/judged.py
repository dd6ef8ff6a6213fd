"""What came of the same lookups in two rings, and whether it was the same: paths, owners, hops, and pointers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from chord.identifiers import IdentifierSpace, hexadecimal
from chord.messages import Pointer
from experiments.overlay.routing import Router, entered_at
from experiments.overlay.snapshot import MemberView, Snapshot

TOLD_AT_MOST = 20


class Place(msgspec.Struct, kw_only=True, frozen=True):
    """A member, by its identifier in hexadecimal, and the address of its process, which may have several."""

    id: str
    address: str

    def __str__(self) -> str:
        return f"{self.id} at {self.address}"


def place_of(pointer: Pointer) -> Place:
    """Where a pointer points."""
    return Place(id=hexadecimal(pointer.id), address=pointer.address)


class Way(msgspec.Struct, kw_only=True):
    """One lookup: those who passed it on, the member first asked at its head, and the owner."""

    path: list[Place]
    owner: Place | None
    timeouts: int = 0
    error: str = ""
    asked: int = 1

    @property
    def hops(self) -> int:
        """Forwards after the node first asked."""
        return max(0, len(self.path) - 1)


class Difference(msgspec.Struct, kw_only=True):
    """A lookup that went two ways, or took other hops than plain sorting makes of the tables (`by_tables`)."""

    name: str
    key: str
    mode: str
    real: Way
    simulated: Way
    by_tables: int


class ModeReport(msgspec.Struct, kw_only=True):
    """All lookups of one mode. `real` and `simulated` are how many took how many hops."""

    mode: str
    lookups: int
    same_paths: int
    asked_again: int
    real: dict[int, int]
    simulated: dict[int, int]
    by_tables: dict[int, int]
    """What plain sorting makes of the real ring's tables (experiments/overlay/routing.py)."""

    different: int = 0
    """Lookups that went two ways."""

    other_hops: int = 0
    """Lookups that took more or fewer hops in the real ring than its tables make of them."""

    differences: list[Difference] = []


class Comparison(msgspec.Struct, kw_only=True):
    """What came of it. `tables`: members whose pointers are not the same in both rings; `changed`: those whose pointers
    in the real ring were others after the lookups than before, or who came or went meanwhile.
    """

    members: int
    processes: int
    successors: int
    commit: str
    real_faults: list[str]
    tables: list[str]
    changed: list[str]
    modes: list[ModeReport]

    @property
    def same(self) -> bool:
        """Whether no pointer differs or changed, and each lookup took one path, with the hops that the tables tell."""
        return not (self.tables or self.changed or any(mode.different or mode.other_hops for mode in self.modes))


def differing(one: Snapshot, other: Snapshot) -> list[str]:
    """The members that are not in both, or whose pointers are not the same."""
    everybody = sorted({*one.by_id, *other.by_id})
    return [each for each in everybody if not same_pointers(one.by_id.get(each), other.by_id.get(each))]


def same_pointers(one: MemberView | None, other: MemberView | None) -> bool:
    """Whether lookups are passed on to the same; that a listed successor is a finger too makes no difference to them.

    A table may lack such a finger until its next refresh, and nobody outside can tell. Who is missing has no pointers.
    """
    return (
        one is not None
        and other is not None
        and (one.address, one.predecessor, one.successors, set(one.known))
        == (other.address, other.predecessor, other.successors, set(other.known))
    )


def judged(
    snapshot: Snapshot, asked: Sequence[tuple[str, str]], mode: str, real: Sequence[Way], simulated: Sequence[Way]
) -> ModeReport:
    """Compare the ways of these lookups (name and node first asked) in the ring of the snapshot and in its twin."""
    space, router = IdentifierSpace(snapshot.bits), Router(snapshot)
    report = ModeReport(mode=mode, lookups=len(asked), same_paths=0, asked_again=0, real={}, simulated={}, by_tables={})
    for (name, address), ours, theirs in zip(asked, real, simulated, strict=True):
        key = space.key(name)
        hops = len(router.path(entered_at(snapshot, router, address, key), key)) - 1
        for counts, taken in ((report.real, ours.hops), (report.simulated, theirs.hops), (report.by_tables, hops)):
            counts[taken] = counts.get(taken, 0) + 1
        report.asked_again += ours.asked > 1
        same = (ours.path, ours.owner, ours.error) == (theirs.path, theirs.owner, theirs.error)
        report.same_paths += same
        report.different += not same
        report.other_hops += ours.hops != hops
        if (not same or ours.hops != hops) and len(report.differences) < TOLD_AT_MOST:
            report.differences.append(
                Difference(name=name, key=hexadecimal(key), mode=mode, real=ours, simulated=theirs, by_tables=hops)
            )
    report.real, report.simulated, report.by_tables = (
        dict(sorted(counts.items())) for counts in (report.real, report.simulated, report.by_tables)
    )
    return report
