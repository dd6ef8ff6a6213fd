"""What keeps a ring from being ideal, its fingers included, judged from a snapshot by plain sorting."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from chord.identifiers import IdentifierSpace, hexadecimal
from experiments.overlay.snapshot import MemberView, Snapshot, commit


def faults(snapshot: Snapshot) -> list[str]:
    """Findings as sentences, none when every pointer is as it should be, and everybody told of them."""
    ring = sorted([*snapshot.by_id, *snapshot.unanswered])
    ids = [int(each, 16) for each in ring]
    found = [f"{each} at {address} did not answer" for each, address in sorted(snapshot.unanswered.items())]
    for at, each in enumerate(ring):
        member = snapshot.by_id.get(each)
        if member is not None:
            found += _neighbours(member, ring, at, snapshot.successors)
            found += _fingers(member, [ring[place] for place in finger_places(ids, at, snapshot.bits)], ring[at - 1])
    return found


def _neighbours(member: MemberView, ring: Sequence[str], at: int, length: int) -> list[str]:
    found = []
    predecessor = ring[at - 1] if len(ring) > 1 else None
    if member.predecessor != predecessor:
        found.append(f"{member.id} has predecessor {member.predecessor}, not {predecessor}")
    listed, most = len(member.successors), len(ring) - 1
    following = [ring[(at + step) % len(ring)] for step in range(1, min(listed, most) + 1)]
    if member.successors != following or listed < min(length, most):
        found.append(f"{member.id} lists {listed} successors, not the {min(length, most)} that follow it")
    return found


def _fingers(member: MemberView, owners: Sequence[str], before: str) -> list[str]:
    """`owners` are those of its fingers' starts; the predecessor is never seen to be one (snapshot.py)."""
    wanted, known = [each for each in owners if each != before], set(member.known)
    spare = {*wanted, *member.successors}
    found = [f"{member.id} lacks the finger {each}" for each in wanted if each not in known]
    return found + [f"{member.id} has an outdated finger {each}" for each in member.fingers if each not in spare]


def finger_places(ids: Sequence[int], at: int, bits: int) -> list[int]:
    """The places, among sorted identifiers, of the distinct fingers of the one at a place, itself left out.

    Stoica et al. 2003, table I: finger i is the first member at or after identifier + 2**i.
    """
    size = 1 << bits
    places = dict.fromkeys(bisect_left(ids, (ids[at] + (1 << bit)) % size) % len(ids) for bit in range(bits))
    return [place for place in places if place != at]


def ideal_ring(cluster: str, addresses: Sequence[str], vnodes: int, successors: int) -> Snapshot:
    """The ring that the processes at these addresses form once every pointer is as it should be."""
    space = IdentifierSpace()
    members = sorted(
        (space.member(cluster, address, index), address) for address in addresses for index in range(vnodes)
    )
    ids = [identifier for identifier, _ in members]
    count = len(ids)
    views = []
    for at, (identifier, address) in enumerate(members):
        before = ids[at - 1] if count > 1 else None
        fingers = [ids[place] for place in finger_places(ids, at, space.bits) if ids[place] != before]
        listed = [ids[(at + step) % count] for step in range(1, min(successors, count - 1) + 1)]
        views.append(
            MemberView(
                id=hexadecimal(identifier),
                address=address,
                predecessor=None if before is None else hexadecimal(before),
                successors=[hexadecimal(each) for each in listed],
                fingers=[hexadecimal(each) for each in fingers],
            )
        )
    return Snapshot(
        source="sim",
        cluster=cluster,
        bits=space.bits,
        successors=successors,
        taken_us=0,
        commit=commit(),
        members=views,
    )
