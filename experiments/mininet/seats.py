"""Who sits on which host: ring nodes first, then ZooKeeper, the brokers, the publishers, the subscribers."""

from __future__ import annotations

from dataclasses import dataclass

from chord.errors import LocalProtocolError
from experiments.sweep.cells import Cell


@dataclass(frozen=True, slots=True)
class Seats:
    """The hosts of each kind of process. The client that looks names up is on the first, beside a ring node."""

    nodes: tuple[str, ...]
    zookeeper: str | None
    brokers: tuple[str, ...]
    publishers: tuple[str, ...]
    subscribers: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many hosts."""
        return len(self.roles())

    def roles(self) -> dict[str, str]:
        """What each host is, like `broker:1` (counted from 0), in the order of the hosts."""
        named = [
            ("node", self.nodes),
            ("broker", self.brokers),
            ("publisher", self.publishers),
            ("subscriber", self.subscribers),
        ]
        found = {host: f"{role}:{index}" for role, hosts in named for index, host in enumerate(hosts)}
        if self.zookeeper is not None:
            found[self.zookeeper] = "zookeeper"
        return dict(sorted(found.items(), key=lambda item: int(item[0][1:])))


def seat(cell: Cell) -> Seats:
    """The seats that a cell needs. Raises LocalProtocolError for one that cannot be played."""
    if cell.nodes < 1:
        raise LocalProtocolError(f"a ring needs a host at least, not {cell.nodes}; have more hosts or fewer clients")
    shares = cell.dissemination is not None
    if shares and min(cell.publishers, cell.subscribers) < 1:
        raise LocalProtocolError("publishers and subscribers: at least one of each")
    if not shares and not cell.lookups:
        raise LocalProtocolError("nothing to do: neither lookups nor a dissemination")
    brokered = cell.dissemination == "brokered"
    last = 0

    def take(count: int) -> tuple[str, ...]:
        nonlocal last
        last += count
        return tuple(f"h{number}" for number in range(last - count + 1, last + 1))

    return Seats(
        nodes=take(cell.nodes),
        zookeeper=take(1)[0] if brokered else None,
        brokers=take(cell.zones * cell.replicas if brokered else 0),
        publishers=take(cell.publishers if shares else 0),
        subscribers=take(cell.subscribers if shares else 0),
    )


def topic_of(index: int, publishers: int, subscribers: int) -> str:
    """The topic of a publisher or subscriber (from 0): as many topics as there are of the fewer of the two."""
    return f"lab/{index % min(publishers, subscribers) + 1}"
