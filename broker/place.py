"""Where a broker stands."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A broker's id, the address that it is reached at, and its zone."""

    broker: str
    address: str
    zone: str
