"""A zone's primary ends or stands still under traffic, with real processes: all of it arrives, once and in order."""

from __future__ import annotations

import signal

import msgspec
import pytest
import zmq

from pubsub import messages
from pubsub.batch import Batch
from pubsub.client import NotDelivered
from pubsub.layout import MAGIC
from pubsub.messages import Fenced, NotPrimary, Subscribe
from pubsub.profile import Profile
from tests.integration.broker.traffic import Traffic
from tests.integration.broker.zones import Zone
from tests.waiting import eventually

PATIENCE_MS = 20_000


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_primary_that_ends_costs_nothing(zone: Zone, how: signal.Signals):
    """Two publishers and two subscribers, and two primaries in a row, until one broker is left."""
    zone.grow(3)
    with (
        zone.subscriber() as one,
        zone.subscriber() as other,
        zone.publisher() as first,
        zone.publisher() as second,
        Traffic(zone.name, [first, second], [one, other]) as traffic,
    ):
        traffic.flows()
        for epoch in (1, 2):
            zone.harm(how)
            traffic.flows()
            assert zone.epoch == epoch + 1
            zone.wait_in_sync()
    assert traffic.epochs() == [1, 2, 3]


def test_a_primary_that_stood_still_is_fenced(zone: Zone):
    """SIGSTOP for longer than its session, then SIGCONT: it was deposed, and comes back as a backup in sync.

    A reader that never left it gets nothing of a later epoch, and is sent away; whoever asks in its name is refused.
    """
    zone.grow(3)
    with (
        zmq.Context() as context,
        context.socket(zmq.DEALER) as straggler,
        context.socket(zmq.DEALER) as impostor,
        zone.subscriber() as reader,
        zone.publisher() as writer,
        Traffic(zone.name, [writer], [reader]) as traffic,
    ):
        traffic.flows()
        producer = writer._producer
        straggler.linger = impostor.linger = 0
        straggler.connect(f"tcp://{zone.primary.address}")
        straggler.send(messages.encode(Subscribe(1, zone.name, producer, "straggler", Profile())))
        assert straggler.poll(PATIENCE_MS)
        stopped = zone.harm(signal.SIGSTOP)
        zone.wait_epoch(1)
        traffic.flows()
        impostor.connect(f"tcp://{writer.address}")
        impostor.send(
            messages.encode(Subscribe(9, zone.name, producer, f"zone/{zone.name}", Profile(), reader_epoch=1))
        )
        assert impostor.poll(PATIENCE_MS)
        assert messages.from_publisher(impostor.recv()) == Fenced(9, 2)

        stopped.process.send_signal(signal.SIGCONT)

        epochs = []
        while (said := _next(straggler)) != NotPrimary(1, 2):
            epochs += [said.zone_epoch] if isinstance(said, Batch) else []
        assert set(epochs) == {1}
        eventually(lambda: stopped.events("deposed"), what="the resumed broker says that it was deposed")
        zone.wait_in_sync(zone.brokers)
        traffic.flows()
        assert zone.primary is not stopped
    assert traffic.epochs() == [1, 2]


def _next(straggler: zmq.Socket) -> Batch | msgspec.Struct:
    assert straggler.poll(PATIENCE_MS), "the deposed primary fell silent without a word"
    frame = straggler.recv()
    return Batch(frame) if frame[0] == MAGIC else messages.from_publisher(frame)


def test_what_a_backup_in_sync_lacks_is_not_said_to_be_safe(zone: Zone):
    """A backup stands still: what is published meanwhile stays at its publisher, until the backup has it, or leads."""
    zone.grow(2, session_s=10.0)
    primary = zone.primary
    (backup,) = (broker for broker in zone.brokers if broker is not primary)
    with zone.subscriber() as reader, zone.publisher(history=40) as writer:
        for _ in range(20):
            writer.publish(zone.name, b"before")
        writer.flush()
        backup.process.send_signal(signal.SIGSTOP)
        for _ in range(20):
            writer.publish(zone.name, b"meanwhile")
        assert [sample and sample.sequence for sample in (reader.receive(20.0) for _ in range(40))] == [*range(1, 41)]
        with pytest.raises(NotDelivered, match=f"zone/{zone.name} has 20"):
            writer.flush(1.0)

        primary.process.kill()
        backup.process.send_signal(signal.SIGCONT)

        writer.flush(20.0)
        assert zone.primary is backup
        with zone.subscriber(history=40) as later:
            taken = [later.receive(20.0) for _ in range(40)]
        assert [sample and sample.sequence for sample in taken] == [*range(1, 41)]
        assert reader.receive(0.0) is None
