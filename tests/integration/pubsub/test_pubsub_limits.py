"""Limits hold whatever the other side does: a peer that is written here has no manners."""

from __future__ import annotations

import time
from array import array

import msgspec
import pytest
import zmq

from pubsub import messages, publishing
from pubsub.client import Publisher
from pubsub.limits import PENDING_BYTES, SAMPLE_OVERHEAD_BYTES
from pubsub.messages import Gone, Subscribe, Subscribed
from pubsub.profile import Profile
from tests.integration.pubsub.pubsub_waiting import DEADLINE_S


@pytest.fixture
def dealer():
    """A DEALER that is not one of ours."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as made:
        made.set(zmq.LINGER, 0)
        made.set(zmq.RCVTIMEO, int(DEADLINE_S * 1000))
        yield made


def answer(dealer, kind):
    """The next message of a kind."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        frame = dealer.recv()
        message = messages.from_publisher(frame) if frame[0] != 0xC1 else None
        if isinstance(message, kind):
            return message
    raise AssertionError(f"no {kind} came")


def test_a_reader_may_ask_again_when_there_is_room_for_no_other(via, topic, dealer, monkeypatch):
    """Asking again, after a gap, is no second reader."""
    monkeypatch.setattr(publishing, "MAX_READERS", 1)
    with Publisher(via=via) as publisher:
        publisher.advertise(topic)
        dealer.connect(f"tcp://{publisher.address}")
        wanted = Subscribe(1, topic, int(publisher.id, 16), "r", Profile())
        for after in (None, 0):
            dealer.send(messages.encode(msgspec.structs.replace(wanted, after=after)))
            assert answer(dealer, (Subscribed, Gone)) == Subscribed(1, 0)

        dealer.send(messages.encode(msgspec.structs.replace(wanted, stream=2, reader="another")))
        assert "has 1 readers already" in answer(dealer, Gone).text
        dealer.send(messages.encode(messages.Unsubscribe(1)))


def test_a_payload_weighs_what_its_bytes_do(topic):
    """Not as much as it has items: more than fits is not taken in."""
    payload = memoryview(array("Q", bytes(80_000)))
    with Publisher(via=["127.0.0.1:1"], block_s=0.1, patience_s=0.1) as publisher:
        for _ in range(3):
            publisher.publish(topic, payload)

        outbox = publisher._outboxes[topic]
        assert outbox.weight == 3 * (payload.nbytes + SAMPLE_OVERHEAD_BYTES) < PENDING_BYTES
        with pytest.raises(Exception, match="not delivered"):
            publisher.close(0.05)
