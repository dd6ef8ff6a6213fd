"""One entry as a process holds it: what it is worth beside another version of itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mmh3

from chord.errors import StaleVersion, TooLarge
from chord.limits import MAX_SERVED, MAX_VERSION, MAX_VERSION_STEP
from chord.messages import Entry, Put, Serial

ENTRY_BYTES = 512
"""What an entry takes beside its value, about."""


@dataclass(frozen=True, slots=True)
class Held:
    """An entry with its lease as a time of this process's monotonic clock."""

    version: int
    value: bytes
    expires_at: float
    guard_until: float
    notify: str
    deleted: bool
    served: tuple[Serial, ...] = ()

    @property
    def size(self) -> int:
        """Bytes, without the names, which have a limit of their own."""
        return ENTRY_BYTES + len(self.value) + len(self.notify)

    def live(self, now: float) -> bool:
        """Whether readers see it."""
        return not self.deleted and now < self.expires_at

    def has_served(self, serial: Serial | None) -> bool:
        """Whether it has come of this put, another attempt at it, or a later one of the same client."""
        return serial is not None and any(client == serial[0] and last >= serial[1] for client, last in self.served)

    def digest(self, name: str, entry: str) -> int:
        """64 bits of what it is, where it is held; leases, which differ from copy to copy, left out."""
        identity = f"{name}\0{entry}\0{self.version}\0{self.deleted}\0{self.notify}\0".encode()
        return mmh3.mmh3_x64_128_uintdigest(identity + self.value, 0) & (2**64 - 1)


def differ(before: Held | None, after: Held, now: float) -> bool:
    """Whether those registered are to hear of it: not of a renewed lease, or another version of the same.

    Nor of what registers an address itself: among thousands, each that comes would have to be told to all the others.
    """
    if before is None or before.notify or not before.live(now):
        return after.live(now) and not after.notify
    return not after.live(now) or (before.value, before.notify) != (after.value, after.notify)


def outdates(held: Held, entry: Entry) -> bool:
    """Whether what is held has won over a copy, which has another version, or another value of that version."""
    if held.version != entry.version:
        return held.version > entry.version
    return (held.deleted, held.value, held.notify) != (entry.deleted, entry.value, entry.notify)


def newer(held: Held, offered: Held) -> Held:
    """Which of two copies of one entry is kept, a function of both that does not depend on their order."""
    guard = max(held.guard_until, offered.guard_until)
    if held.version != offered.version:
        winner = held if held.version > offered.version else offered
        return replace(winner, guard_until=guard)
    # Two halves of a split may have counted to the same version: a deletion wins, then the greater value.
    if (held.deleted, held.value, held.notify) != (offered.deleted, offered.value, offered.notify):
        winner = max(held, offered, key=lambda copy: (copy.deleted, copy.value, copy.notify))
        return replace(winner, guard_until=guard)
    return replace(held, expires_at=min(held.expires_at, offered.expires_at), guard_until=guard)


def served(put: Put, held: Held | None) -> tuple[Serial, ...]:
    """What is remembered of the puts of an entry after one more."""
    before = held.served if held else ()
    if put.serial is None:
        return before
    return (put.serial, *(each for each in before if each[0] != put.serial[0]))[:MAX_SERVED]


def version_of(put: Put, held: Held | None) -> int:
    """The version that a put is stored as. Raises StaleVersion, TooLarge."""
    current = held.version if held else 0
    if put.deleted and current == MAX_VERSION and put.version in (0, MAX_VERSION):
        return MAX_VERSION
    version = put.version or current + 1
    refused = f"put of {put.entry!r} under {put.name!r} refused"
    if version > MAX_VERSION:
        raise TooLarge(f"{refused}: {current} is the last version there is")
    if version - current > MAX_VERSION_STEP:
        raise TooLarge(
            f"{refused}: version {version} was offered and {current} is held, from which it may grow by "
            f"{MAX_VERSION_STEP} at a time; version 0 counts on"
        )
    if version < current or (version == current and not _is_again(put, held)):
        raise StaleVersion(f"{refused}: version {version} is not newer than {current}")
    return version


def _is_again(put: Put, held: Held | None) -> bool:
    """Whether a put is what is held already, sent once more."""
    return held is not None and (held.value, held.deleted, held.notify) == (put.value, put.deleted, put.notify)
