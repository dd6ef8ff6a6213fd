"""A world as text, for a person who wants to know why it did not come right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker.stream import Stream
from pubsub.writer import Writer

if TYPE_CHECKING:
    from tests.property.broker.world import World


def describe(world: World) -> str:
    """Every zone, broker, stream and client, a line each."""
    return "\n".join((f"at {world.now:.2f} s:", *_lines(world)))


def _lines(world: World) -> Iterator[str]:
    for zone, zookeeper in world.zookeepers.items():
        yield f"  zone {zone}: {zookeeper.state}, standing {sorted(zookeeper.candidates)}"
    for broker in world.brokers.values():
        role = type(broker.replica.role).__name__
        yield f"  broker {broker.name} ({broker.place.zone}): {role}, fence {broker.replica.fence.epoch}"
        yield from map(_stream, broker.replica.streams.by_number.values())
    for publisher in world.publishers:
        yield f"  publisher {publisher.name}: newest {publisher.newest}, {_readers(publisher.writer)}"
    for subscriber in world.subscribers:
        following = {producer: each.next for producer, each in subscriber.subscriptions.items()}
        yield f"  subscriber {subscriber.name}: {following}, primary {subscriber.view.primary}"


def _stream(stream: Stream) -> str:
    upstream = stream.upstream
    return (
        f"    {stream.producer}: next {upstream.next}, safe {upstream.safe}, at {stream.address!r}, "
        f"primed {stream.primed}, settled {stream.writer.settled}, {_readers(stream.writer)}"
    )


def _readers(writer: Writer) -> dict[str, int]:
    return {reader.name: reader.received for reader in writer.readers.values()}
