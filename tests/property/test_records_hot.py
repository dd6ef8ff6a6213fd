"""One record that thousands are registered in, with frames as they are on the wire."""

from __future__ import annotations

from collections import Counter

from chord.effects import call
from chord.limits import MAX_FRAME_BYTES
from chord.messages import Changed, Put, Stored
from chord.settings import Settings
from chord.wire import decode_request
from sim.cluster import Cluster, address_of
from sim.network import Link, Network, constant

REGISTERED = 10_000
NAME = "a popular topic"
LEASE_S = 600.0
AT_A_TIME = 1_000


class Overheard(Network):
    """Keeps the size of the largest frame, and counts what those registered are told."""

    def __init__(self, *arguments) -> None:  # type: ignore[no-untyped-def]
        super().__init__(*arguments)
        self.largest = 0
        self.casts: Counter[str] = Counter()

    def request(self, source, target, frame):  # type: ignore[no-untyped-def]
        self.largest = max(self.largest, len(frame))
        if target.startswith("ear") and isinstance(decode_request(frame).body, Changed):
            self.casts[target] += 1
        super().request(source, target, frame)

    def reply(self, source, route, frame):  # type: ignore[no-untyped-def]
        self.largest = max(self.largest, len(frame))
        super().reply(source, route, frame)


def test_ten_thousand_registrations_under_one_topic():
    """All are acknowledged, listed page by page, told of a publisher once each, and there when their owner is not."""
    cluster = Cluster(1, Settings(repair_s=10.0))
    network = Overheard(cluster.scheduler, cluster.rng("network"), Link(constant(0.002)))
    cluster.network = network
    cluster.start_many(5)
    assert cluster.converge(60.0) is not None
    # A joiner that takes its arc over holds a fourth copy.
    assert cluster.scheduler.run_until(lambda: all(member.reach.complete for member in cluster.members()), 20.0)
    client = cluster.client()
    via = [address_of(number) for number in range(5)]
    owner = client.locate(NAME, via[0]).owner
    assert owner is not None
    entries = [f"subscriber {number:05d}" for number in range(REGISTERED)]

    for first in range(0, REGISTERED, AT_A_TIME):
        outcomes = [
            client.process.start(
                call(owner, Put(NAME, entry, b"profile", LEASE_S, notify=f"ear-{entry[-5:]}:1"), Stored)
            )
            for entry in entries[first : first + AT_A_TIME]
        ]
        assert cluster.scheduler.run_until(lambda outcomes=outcomes: all(each.done for each in outcomes), 30.0)
        assert all(each.value().copies == 3 for each in outcomes)
        assert not network.casts

    def listed(through: str) -> list[str]:
        return [entry.entry for entry in client.ask(client.ring([through], 20.0).get(NAME))]

    assert listed(via[0]) == entries
    client.ask(client.ring(via, 20.0).put(NAME, "publisher", b"here", LEASE_S))
    cluster.scheduler.run_for(10.0)
    assert network.casts == {f"ear-{entry[-5:]}:1": 1 for entry in entries}
    sent = network.sent
    cluster.crash(owner.address)
    left = [address for address in via if address != owner.address]
    assert cluster.converge(60.0) is not None
    assert listed(left[0]) == ["publisher", *entries]
    cluster.leave(cluster.client("second").locate(NAME, left[0]).owner.address)
    left = list(cluster.nodes)
    assert cluster.converge(60.0) is not None
    assert listed(left[0]) == ["publisher", *entries]
    cluster.scheduler.run_for(15.0)
    assert network.sent - sent < REGISTERED
    assert network.largest <= MAX_FRAME_BYTES
