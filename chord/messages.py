"""The messages of the ring: typed, tagged by `type`, each request declared together with its reply.

MessagePack maps on the wire, but for Pointer and Entry, which are arrays. Every size has a limit (chord/limits.py).
`gc=False` for the most frequent: no message can be part of a cycle, so the collector need not know of it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta, Struct

from chord.limits import (
    MAX_ADDRESS,
    MAX_AVOIDED,
    MAX_CLUSTER,
    MAX_ENTRIES_PER_PAGE,
    MAX_ENTRY_ID,
    MAX_ERROR_KIND,
    MAX_ERROR_TEXT,
    MAX_FORWARDS,
    MAX_LEASE_S,
    MAX_LIST,
    MAX_NAME_BYTES,
    MAX_SERVED,
    MAX_VALUE_BYTES,
)

Identifier = Annotated[int, Meta(ge=0)]  # MessagePack itself ends at 2**64 - 1
Count = Annotated[int, Meta(ge=0, le=2**53)]
Incarnation = Annotated[int, Meta(ge=1, le=2**53)]
Lease = Annotated[float, Meta(ge=0, le=MAX_LEASE_S)]
Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_BYTES)]
Address = Annotated[str, Meta(max_length=MAX_ADDRESS)]
EntryId = Annotated[str, Meta(min_length=1, max_length=MAX_ENTRY_ID)]


class Pointer(Struct, array_like=True, frozen=True, gc=False):
    """What one member knows of another: identifier, address (host:port), and the incarnation it had.

    None that travels has incarnation 0, which is answered by whichever member its process has: as a neighbour it could
    never be found dead.
    """

    id: Identifier
    address: Address
    incarnation: Incarnation

    def __str__(self) -> str:
        return f"{self.id:016x} at {self.address}"


def contact(address: str) -> Pointer:
    """A process whose members are not known yet: whichever fits is meant. Never sent."""
    return Pointer(0, address, 0)


Pointers = Annotated[tuple[Pointer, ...], Meta(max_length=MAX_LIST)]
Path = Annotated[tuple[Pointer, ...], Meta(max_length=MAX_FORWARDS)]


Serial = tuple[Count, Count]
"""A client, and the number of one of its puts: later ones have higher numbers, all attempts at one the same."""


class Entry(Struct, array_like=True, frozen=True):
    """One leased entry of a record, as it travels: leases are what remains of them, in seconds.

    `notify` is an address that is cast every change of the record, but to entries that have an address themselves; or
    empty. `guard_s` is how long an older version may still be held somewhere: until then the entry is kept, even when
    expired or deleted, so that it cannot return. `served`: the last put of each client that changed it lately, the
    latest first.
    """

    name: Name
    entry: EntryId
    version: Count
    value: Annotated[bytes, Meta(max_length=MAX_VALUE_BYTES)]
    lease_s: Lease
    notify: Address = ""
    deleted: bool = False
    guard_s: Lease = 0.0
    served: Annotated[tuple[Serial, ...], Meta(max_length=MAX_SERVED)] = ()


Entries = Annotated[tuple[Entry, ...], Meta(max_length=MAX_ENTRIES_PER_PAGE)]


# Replies -----------------------------------------------------------------------------------------------------------


class Pong(Struct, tag_field="type", frozen=True):
    """The member is alive under the incarnation asked."""


class Hop(Struct, tag_field="type", frozen=True):
    """The answer to one step of a lookup.

    `final`: the member asked precedes the key, and `candidates` are the owner and then its successors.
    Otherwise `candidates` are members that precede the key, the closest to it first.
    """

    member: Pointer
    final: bool
    candidates: Pointers


class Owned(Struct, tag_field="type", frozen=True):
    """The member asked owns the key, or answers for a predecessor that it has not heard from lately."""

    owner: Pointer


class Neighbours(Struct, tag_field="type", frozen=True, omit_defaults=True):
    """A member's own view of its neighbours. `whole`: the list holds every other member of the ring.

    `lacks_after`: it has not got its records yet, which begin after this identifier; None when it has.
    """

    member: Pointer
    predecessor: Pointer | None
    successors: Pointers
    whole: bool
    lacks_after: Identifier | None = None


class Noted(Struct, tag_field="type", frozen=True, omit_defaults=True):
    """The message was applied. `newer`: something newer than an entry of it was held already, and is held still."""

    newer: bool = False


class Stored(Struct, tag_field="type", frozen=True):
    """The version under which the entry is now held, and by how many processes."""

    version: Count
    copies: Count


class Page(Struct, tag_field="type", frozen=True, omit_defaults=True):
    """One page of entries in order; `more`: ask again from after the last one.

    `seasoned`: the member asked has had all of its records for a while.
    """

    entries: Entries
    more: bool
    seasoned: bool = False


class Same(Struct, tag_field="type", frozen=True):
    """Whether the replica holds just what the digest says."""

    same: bool


class Failure(Struct, tag_field="type", frozen=True):
    """The request was refused or could not be read; `kind` names the error, `hint` where to go instead."""

    kind: Annotated[str, Meta(max_length=MAX_ERROR_KIND)]
    text: Annotated[str, Meta(max_length=MAX_ERROR_TEXT)]
    hint: Pointer | None = None


# Requests ----------------------------------------------------------------------------------------------------------


class Ping(Struct, tag_field="type", frozen=True):
    """Whether the member is alive. Never answered busy."""

    reply: ClassVar[type] = Pong


class NextHop(Struct, tag_field="type", frozen=True, omit_defaults=True):
    """One step of a lookup of `key`. Never answered busy."""

    reply: ClassVar[type] = Hop

    key: Identifier
    avoid: Annotated[tuple[Identifier, ...], Meta(max_length=MAX_AVOIDED)] = ()
    """Members that the asker found dead; the answer leaves them out."""


class ConfirmOwner(Struct, tag_field="type", frozen=True):
    """The last step of a lookup: whether the member asked owns `key`. Never answered busy."""

    reply: ClassVar[type] = Owned

    key: Identifier


class Forward(Struct, tag_field="type", frozen=True, omit_defaults=True):
    """Cast: a recursive lookup of `key` on its way; whoever it ends at casts `Arrived` to `asker`, under its `token`.

    `path`: the members that passed it on, the node first asked at its head. `owners`: the owner and then its successors
    as the key's predecessor named them, empty until it has. `denied`: those of them that owned the key no more.
    """

    reply: ClassVar[type] = Noted

    key: Identifier
    asker: Address
    token: Count
    path: Path = ()
    owners: Path = ()
    denied: Path = ()


class Arrived(Struct, tag_field="type", frozen=True, omit_defaults=True):
    """Cast: the answer to `Forward`. `owner` confirms that it owns the key as by `ConfirmOwner`; None: no way on."""

    reply: ClassVar[type] = Noted

    token: Count
    owner: Pointer | None
    path: Path = ()
    owners: Path = ()
    denied: Path = ()


class GetNeighbours(Struct, tag_field="type", frozen=True, omit_defaults=True):
    """A neighbour query (Zave 2017); answered busy while an operation of the member's own is under way.

    With `observe` it is a look from outside, whose answer nobody builds state on, and never busy. A `sender` believes
    that it is the receiver's predecessor, as by `Notify`: one that is adopted finds itself in the answer.
    """

    reply: ClassVar[type] = Neighbours

    observe: bool = False
    sender: Pointer | None = None
    complete: bool = True
    attached: bool = True


class Notify(Struct, tag_field="type", frozen=True, omit_defaults=True):
    """The sender believes that it is the receiver's predecessor; the receiver rectifies.

    `complete`: whether the sender has got all of its records. `attached`: whether the ring leads to it.
    """

    reply: ClassVar[type] = Noted

    sender: Pointer
    complete: bool = True
    attached: bool = True


class Nudge(Struct, tag_field="type", frozen=True):
    """Cast: the receiver's successor may have changed, so it had better stabilize now. Changes no state."""

    reply: ClassVar[type] = Noted


class Meet(Struct, tag_field="type", frozen=True):
    """Cast: the sender belongs to another ring of this cluster, which the receiver may not know of."""

    reply: ClassVar[type] = Noted

    sender: Pointer


class Leave(Struct, tag_field="type", frozen=True):
    """The sender leaves the ring, and has handed its records over."""

    reply: ClassVar[type] = Noted

    sender: Pointer


class Put(Struct, tag_field="type", frozen=True):
    """Store or, with `deleted`, delete one entry. Version 0 lets the owner count: one more than it holds.

    An attempt that comes after what a later put of its client has led to changes nothing (Ongaro 2014, section 6.3);
    nothing is known of the attempts of one without a `serial`.
    """

    reply: ClassVar[type] = Stored

    name: Name
    entry: EntryId
    value: Annotated[bytes, Meta(max_length=MAX_VALUE_BYTES)] = b""
    lease_s: Lease = 0.0
    version: Count = 0
    notify: Address = ""
    deleted: bool = False
    acting: bool = False
    """Passed on by a joiner whose hand-over is not complete: the receiver answers for it."""
    serial: Serial | None = None


class Get(Struct, tag_field="type", frozen=True):
    """The live entries of a record, in the order of their ids, from after `after`."""

    reply: ClassVar[type] = Page

    name: Name
    after: Annotated[str, Meta(max_length=MAX_ENTRY_ID)] = ""
    acting: bool = False


class Copy(Struct, tag_field="type", frozen=True, omit_defaults=True):
    """Entries for a replica to hold; `handover`: for the new owner, which an owner otherwise refuses.

    `owned`: the receiver was found to own them, and sees to it that they follow when it does not any more. `onward`:
    whoever has taken them over from the receiver has to hold them too.
    """

    reply: ClassVar[type] = Noted

    entries: Entries
    handover: bool = False
    owned: bool = False
    onward: bool = False


class CompareArc(Struct, tag_field="type", frozen=True):
    """Whether the receiver holds the entries of the arc (low, high] that this digest was made of.

    It takes the sender for the owner, which mends what differs, and leaves that arc to it for some seconds.
    """

    reply: ClassVar[type] = Same

    low: Identifier
    high: Identifier
    digest: Identifier


class FetchArc(Struct, tag_field="type", frozen=True, omit_defaults=True):
    """A page of the entries (dead ones too) whose keys lie in the arc (low, high].

    In the order of key (from low on around the ring), name, entry id.

    `takeover`: the sender, at `high`, will answer for the arc, so the page must lack nothing. Answered busy to all but
    the predecessor, while that one has not got its records.
    """

    reply: ClassVar[type] = Page

    low: Identifier
    high: Identifier
    after: tuple[Annotated[str, Meta(max_length=MAX_NAME_BYTES)], Annotated[str, Meta(max_length=MAX_ENTRY_ID)]] = (
        "",
        "",
    )
    takeover: bool = False


class Changed(Struct, tag_field="type", frozen=True):
    """Cast by a record's owner to those registered in it: this entry changed (or is gone: `entry.deleted`)."""

    reply: ClassVar[type] = Noted

    entry: Entry


RequestBody = (
    Ping
    | NextHop
    | ConfirmOwner
    | Forward
    | Arrived
    | GetNeighbours
    | Notify
    | Nudge
    | Meet
    | Leave
    | Put
    | Get
    | Copy
    | CompareArc
    | FetchArc
    | Changed
)
ReplyBody = Pong | Hop | Owned | Neighbours | Noted | Stored | Page | Same | Failure


def asks_others(body: RequestBody) -> bool:
    """Whether the receiver may have to ask others before it answers: how long that takes says nothing of the link."""
    if isinstance(body, FetchArc):
        return body.takeover
    return body.onward if isinstance(body, Copy) else isinstance(body, Put | Get)


class Request(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The envelope of a request. `to` is (identifier, incarnation) of the member meant, or None for any of the process.

    Call 0 is a cast: no reply is sent.
    """

    v: int
    cluster: Annotated[str, Meta(max_length=MAX_CLUSTER)]
    call: Count
    body: RequestBody
    to: tuple[Identifier, Count] | None = None


class Reply(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The envelope of a reply, under the call id of its request (0 if that could not be read)."""

    v: int
    call: Count
    body: ReplyBody
