"""Ctrl-C in the middle of `publish`, again and again: what was published stays whole, and publishing goes on."""

from __future__ import annotations

import itertools
import random
import signal
import threading

import pytest

from pubsub import publisher as publisher_module
from pubsub.client import Publisher, Subscriber
from tests.integration.pubsub.pubsub_waiting import DEADLINE_S

INTERRUPTS = 300


class Interrupted(BaseException):
    """What Ctrl-C raises, under another name."""


@pytest.fixture
def interrupt():
    """Calls a function, and interrupts it a random few microseconds later if it is still at it."""
    inside = False
    rng = random.Random(7)

    def on_alarm(_number, _frame):
        nonlocal inside
        if inside:
            inside = False
            raise Interrupted

    def call(function):
        nonlocal inside
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 120e-6))
            inside = True
            result = function()
            inside = False
            return result
        except Interrupted:
            return None
        finally:
            inside = False

    before = signal.signal(signal.SIGALRM, on_alarm)
    yield call
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("at_once", [False, True], ids=["flat out", "one at a time"])
def test_an_interrupted_publish_leaves_everything_in_step(via, topic, interrupt, monkeypatch, at_once):
    """No sample under another's number or time, none twice, none missing, whichever thread sends.

    One at a time, each is published when the one before has come, for the application's thread to send it.
    """
    if at_once:
        monkeypatch.setattr(publisher_module, "BURST_US", 0)
    payloads = {}
    with Subscriber([topic], via=via) as subscriber, Publisher(via=via) as publisher:
        publisher.advertise(topic)
        publisher.wait_for_readers(topic, 1, DEADLINE_S)
        got = []
        came = threading.Condition()
        outbox = publisher._outboxes[topic]

        def receive():
            while not got or got[-1].payload != b"last":
                samples = subscriber.receive_batch(DEADLINE_S)
                with came:
                    got.extend(samples)
                    came.notify()

        def all_came():
            return not outbox.sequence or (got and got[-1].sequence == outbox.sequence)

        thread = threading.Thread(target=receive)
        thread.start()
        interrupted = 0
        for number in itertools.count():
            payload = b"%d" % number
            sequence = interrupt(lambda payload=payload: publisher.publish(topic, payload))
            if sequence is None:
                interrupted += 1
            else:
                payloads[sequence] = payload
            if interrupted == INTERRUPTS:
                break
            if at_once:
                with came:
                    assert came.wait_for(all_came, DEADLINE_S)
        last = publisher.publish(topic, b"last")
        publisher.flush(DEADLINE_S)
        thread.join(DEADLINE_S)

        assert [sample.sequence for sample in got] == list(range(1, last + 1))
        received = {sample.sequence: sample.payload for sample in got}
        assert all(received[sequence] == payload for sequence, payload in payloads.items())
        numbers = [int(sample.payload) for sample in got[:-1]]
        assert numbers == sorted(set(numbers))
        assert [sample.published_us for sample in got] == sorted(sample.published_us for sample in got)
        assert subscriber.lost == 0
