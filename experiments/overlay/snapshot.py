"""A snapshot of a ring, as a JSON file: every member with those whom it knows, and where that comes from.

    {"format": 1, "source": "live", "cluster": "ringcast", "bits": 64, "successors": 8, "taken_us": 1764417396000000,
     "commit": "...", "seed": null, "latency": null, "unanswered": {"0123456789abcdee": "127.0.0.1:5003"},
     "members": [{"id": "0123456789abcdef", "address": "127.0.0.1:5000", "predecessor": "...",
                  "successors": ["...", ...], "fingers": ["...", ...]}, ...]}

Members are in ring order, their pointers nearest first; identifiers have 16 hexadecimal digits. `fingers` are all
distinct members that its finger table holds, of which some may be in its list as well; the predecessor is not among
them: it is never named as a next hop, so nobody outside can tell whether a finger points there, nor does it matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from chord.errors import LocalProtocolError
from chord.identifiers import IdentifierSpace, hexadecimal
from chord.messages import Pointer
from sim.commit import checked_out
from sim.latency import Model

FORMAT = 1
LEAVES = "take one with `python -m experiments overlay snapshot`"


class BadSnapshot(LocalProtocolError):
    """A file that is missing or is no snapshot. The text says what to do."""


class MemberView(msgspec.Struct, kw_only=True, frozen=True):
    """One member; pointers are identifiers in hexadecimal."""

    id: str
    address: str
    predecessor: str | None
    successors: list[str]
    fingers: list[str]

    @property
    def known(self) -> list[str]:
        """Everybody to whom it passes lookups on."""
        return list(dict.fromkeys((*self.fingers, *self.successors)))


class Snapshot(msgspec.Struct, kw_only=True, frozen=True, dict=True):
    """A ring at some moment, `taken_us` since the epoch (0 if it was simulated).

    `successors`: entries that each list is meant to have. `seed` and `latency` are those of a simulated ring.
    `unanswered`: members of the ring that did not tell whom they know, by identifier, with their addresses; they are
    not among `members`.
    """

    source: Literal["live", "sim"]
    cluster: str
    bits: int
    successors: int
    taken_us: int
    commit: str
    members: list[MemberView]
    seed: int | None = None
    latency: Model | None = None
    unanswered: dict[str, str] = {}
    format: int = FORMAT

    @cached_property
    def by_id(self) -> dict[str, MemberView]:
        """The members by identifier."""
        return {member.id: member for member in self.members}

    @property
    def addresses(self) -> list[str]:
        """Of the processes, in ring order of their first members."""
        return list(dict.fromkeys(member.address for member in self.members))

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        written = path.with_name(path.name + ".new")
        path.parent.mkdir(parents=True, exist_ok=True)
        written.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")
        written.replace(path)


def member_view(
    space: IdentifierSpace, me: Pointer, predecessor: Pointer | None, successors: Iterable[Pointer], fingers: set[int]
) -> MemberView:
    """One member; of its fingers those that the format leaves out are dropped."""
    told = fingers - {me.id} - ({predecessor.id} if predecessor is not None else set())
    return MemberView(
        id=hexadecimal(me.id),
        address=me.address,
        predecessor=None if predecessor is None else hexadecimal(predecessor.id),
        successors=[hexadecimal(pointer.id) for pointer in successors],
        fingers=[hexadecimal(each) for each in sorted(told, key=lambda each: space.distance(me.id, each))],
    )


@cache
def commit() -> str:
    """The version of the code that takes snapshots."""
    return checked_out()


def load(path: Path) -> Snapshot:
    """Read a snapshot. Raises BadSnapshot."""
    try:
        raw: Any = msgspec.json.decode(path.read_bytes())
        if isinstance(raw, dict) and raw.get("format", FORMAT) != FORMAT:
            raise BadSnapshot(f"{path} has format {raw['format']}, and this version reads {FORMAT}; {LEAVES}")
        snapshot = msgspec.convert(raw, Snapshot)
        _check(snapshot)
    except OSError as error:
        raise BadSnapshot(f"{path} cannot be read ({error.strerror}); {LEAVES}") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadSnapshot(f"{path} is no snapshot of a ring: {error}; {LEAVES}") from None
    return snapshot


def _check(snapshot: Snapshot) -> None:
    """Raises ValueError for what would not be a ring."""
    size = 1 << snapshot.bits
    if not 1 <= snapshot.bits <= 64 or not snapshot.members:
        raise ValueError(f"{len(snapshot.members)} members in a space of {snapshot.bits} bits")
    if len(snapshot.by_id) != len(snapshot.members):
        raise ValueError("two members have the same identifier")
    if snapshot.by_id.keys() & snapshot.unanswered.keys():
        raise ValueError("a member both answered and did not")
    named = [(member.id, *member.known, *filter(None, [member.predecessor])) for member in snapshot.members]
    for ids in (*named, tuple(snapshot.unanswered)):
        for each in ids:
            if not 0 <= int(each, 16) < size or each != hexadecimal(int(each, 16)):
                raise ValueError(f"{each!r} is no identifier of {snapshot.bits} bits")
    if snapshot.members != sorted(snapshot.members, key=lambda member: member.id):
        raise ValueError("the members are not in the order of their identifiers")


def save_to(path: Path) -> Path:
    """The path, if a file can be written there, in a folder that is there or can be made. Raises BadSnapshot."""
    if path.is_dir():
        raise BadSnapshot(f"{path} is a directory; name a file, such as {path / 'ring.json'}")
    folder = next(each for each in path.absolute().parents if each.exists())
    if not folder.is_dir():
        raise BadSnapshot(f"{path} cannot be written: {folder} is not a directory; name another file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadSnapshot(f"{path} cannot be written: {folder} is not yours to write in; name another file")
    return path
