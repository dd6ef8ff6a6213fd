"""One hierarchy of errors: whose fault it is, and whether the thing asked for may have happened.

A *definite* error says that it did not happen; an *indefinite* one that it may have.
"""

from __future__ import annotations

from typing import ClassVar


class RingcastError(Exception):
    """Anything that Ringcast reports to its caller. The text is one complete sentence for a person."""

    definite: ClassVar[bool] = True


class InvalidName(RingcastError):
    """A name that cannot be hashed or stored; nothing was sent."""


class LocalProtocolError(RingcastError):
    """We asked for something that the protocol does not allow: ours to fix."""


class RemoteProtocolError(RingcastError):
    """The peer sent something that the protocol does not allow."""

    definite = False


class PeerUnreachable(RingcastError):
    """No reply within the time-out. The request may have been carried out."""

    definite = False


class LookupFailed(RingcastError):
    """A lookup ran out of candidates or of hops. It changes nothing, so it may be repeated."""


class AddressTaken(RingcastError):
    """A living process answers at the address that this one wants to be reached at."""


class WrongCluster(RingcastError):
    """The peer belongs to another cluster; nothing was done, nor will be."""


class Refused(RingcastError):
    """The peer is alive and said no; nothing was done."""


class Busy(Refused):
    """A neighbour query met a member in the middle of an operation of its own; ask again a little later."""


class NotOwner(Refused):
    """The member asked does not own the key; `hint` is who it believes does, if it knows."""

    def __init__(self, message: str, hint: object = None) -> None:
        super().__init__(message)
        self.hint = hint


class NotMember(Refused):
    """The process at this address hosts no such member (any more): that member is dead for certain."""


class StaleVersion(Refused):
    """A put named a version that is not newer than the one held."""


class TooLarge(Refused):
    """A value, a name or a frame exceeds its limit."""


class CopiesMissing(RingcastError):
    """A put is held by fewer processes than it was promised to. It may survive, and may be seen."""

    definite = False
