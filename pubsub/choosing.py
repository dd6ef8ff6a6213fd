"""Which zone a client joins: the one that is named, or the one with the fewest clients."""

from __future__ import annotations

from chord.errors import LocalProtocolError, RingcastError
from pubsub.io_thread import IoThread
from pubsub.zones import check_zone, least_loaded


def check_choice(brokered: bool, zone: str | None) -> None:
    """Raises LocalProtocolError for a zone that cannot be one. One that is named means brokers, `brokered` or not."""
    if zone is not None:
        check_zone(zone)
    elif not isinstance(brokered, bool):
        raise LocalProtocolError(f"brokered is {brokered!r}; it is True or False, and a zone goes into `zone`")


def choose_zone(io: IoThread) -> str:
    """The zone with the fewest clients. Raises NoZone when there is none, or what kept the ring from answering."""
    chosen: list[str | RingcastError] = []

    def then(zone: str | None, error: RingcastError | None) -> None:
        chosen.append(error or zone or "")
        io.gate.open()

    def start() -> None:
        io.driver.start(least_loaded(io.ring), then)

    io.post(start)
    io.wait(lambda: bool(chosen), -1.0)
    if isinstance(chosen[0], RingcastError):
        raise chosen[0]
    return chosen[0]
