"""The processes of the demo besides the ring nodes. Each tells its progress as lines of JSON on stdout.

    python -m experiments.demo.workers publish TOPIC SECONDS TRACES VIA...
    python -m experiments.demo.workers subscribe TOPIC direct|brokered TRACES VIA...
    python -m experiments.demo.workers ask ANSWERS RATE TRACES VIA...

A publisher waits for a line on stdin before it begins; the others end when stdin is closed.
"""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from experiments.flights import departures
from experiments.rings.load import LookupLoad
from pubsub.client import Publisher, Subscriber

TELL_S = 0.2
READERS = 2
"""The subscriber that reads the publisher itself, and the zone that reads for all others."""

READERS_WITHIN_S = 20.0
FLUSH_WITHIN_S = 20.0
HOUR_S = 3600.0


def tell(**values: Any) -> None:
    """One line of progress."""
    sys.stdout.buffer.write(msgspec.json.encode(values) + b"\n")
    sys.stdout.buffer.flush()


def told_to_end() -> bool:
    """Whether stdin has been closed (or written to)."""
    return bool(select.select([0], [], [], 0)[0])


def publish(topic: str, seconds: float, traces: Path, via: list[str]) -> None:
    """Publish the departures from one airport through a zone, evenly over so many seconds."""
    airport = topic.rpartition(".")[2]
    lines = [departure.line for departure in departures() if departure.origin == airport]
    with Publisher(via, history=0, trace=traces, brokered=True) as publisher:
        publisher.wait_for_readers(topic, READERS, READERS_WITHIN_S)
        tell(id=publisher.id, total=len(lines), sent=0)
        os.read(0, 1)
        started = time.monotonic()
        told_at = started
        sent = 0
        while sent < len(lines):
            now = time.monotonic()
            due = min(len(lines), int((now - started) / seconds * len(lines)) + 1)
            for line in lines[sent:due]:
                publisher.publish(topic, line)
            sent = due
            if now - told_at >= TELL_S:
                told_at = now
                tell(sent=sent)
            time.sleep(0.002)
        publisher.flush(FLUSH_WITHIN_S)
        tell(sent=sent, done=True)


def subscribe(topic: str, brokered: bool, traces: Path, via: list[str]) -> None:
    """Receive every sample of one topic."""
    received = 0
    told_at = 0.0
    with Subscriber([topic], via, trace=traces, brokered=brokered) as subscriber:
        tell(id=subscriber.id, zone=subscriber.zone, received=0)
        while not told_to_end():
            received += len(subscriber.receive_batch(TELL_S))
            if time.monotonic() - told_at >= TELL_S:
                told_at = time.monotonic()
                tell(received=received)
        tell(received=received, done=True)


def ask(answers: Path, rate: float, traces: Path, via: list[str]) -> None:
    """Look random names up; at the end, leave every answer in a file for the verdict."""
    load = LookupLoad(via, rate, trace=traces)
    told_at = 0.0

    def until() -> bool:
        nonlocal told_at
        if time.monotonic() - told_at >= TELL_S:
            told_at = time.monotonic()
            tell(asked=len(load.answers))
        return told_to_end()

    load.run(HOUR_S, until)
    load.close()
    answers.write_bytes(msgspec.msgpack.encode(load.answers))
    tell(asked=len(load.answers), done=True)


def main() -> None:
    """Play the part that the arguments name."""
    part, what, how, traces, *via = sys.argv[1:]
    if part == "publish":
        publish(what, float(how), Path(traces), via)
    elif part == "subscribe":
        subscribe(what, how == "brokered", Path(traces), via)
    else:
        ask(Path(what), float(how), Path(traces), via)


if __name__ == "__main__":
    main()
