"""What can go wrong with publishing and subscribing, beside the errors of the ring."""

from __future__ import annotations

from chord.errors import LocalProtocolError, RingcastError


class Closed(LocalProtocolError):
    """The publisher or subscriber was closed before."""


class WindowFull(RingcastError):
    """A sample was not published: readers that must get everything have no room for it. Nothing was sent."""


class NotDelivered(RingcastError):
    """Not everything that was published has been received by every at-least-once reader. It may yet be."""

    definite = False


class NotRegistered(RingcastError):
    """The ring did not take a registration within the patience."""


class NothingReceived(RingcastError):
    """No sample came within the time that somebody was willing to wait."""
