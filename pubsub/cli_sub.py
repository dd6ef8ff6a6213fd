"""`ringcast sub`: samples as lines on stdout; and `ringcast topics`."""

from __future__ import annotations

import base64
import csv
import fcntl
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from chord.cli_options import Advertise, AsJson, Cluster, Host, Patience, Port, Trace, Via
from chord.client import RingClient
from chord.errors import LocalProtocolError
from chord.sockets import raise_descriptor_limit
from pubsub.cli_options import Brokered, Durability, Reliability, Zone, end_on_sigterm, tell, warn
from pubsub.directory import list_topics
from pubsub.errors import NothingReceived
from pubsub.mismatch import Mismatch
from pubsub.sample import Sample
from pubsub.subscriber import Subscriber

Keep = Callable[[list[Sample]], None]


def sub(
    topics: Annotated[list[str], typer.Argument(help="Topics to receive.", metavar="TOPIC")],
    via: Via = None,
    count: Annotated[int | None, typer.Option(help="Stop after so many samples.", min=1, max=sys.maxsize)] = None,
    history: Annotated[int, typer.Option(help="Past samples to get from each publisher.", min=0)] = 0,
    reliability: Reliability = "at_least_once",
    durability: Durability = None,
    brokered: Brokered = False,
    zone: Zone = None,
    wait: Annotated[
        float | None, typer.Option(help="Give up (exit code 1) after so many seconds without a sample.", min=0.0)
    ] = None,
    latency_file: Annotated[
        Path | None,
        typer.Option(help="CSV to write: publisher,topic,sequence,latency_us of each sample.", metavar="FILE.csv"),
    ] = None,
    as_json: AsJson = False,
    trace: Trace = None,
    host: Host = "127.0.0.1",
    port: Port = 0,
    advertise: Advertise = None,
    patience: Patience = 5.0,
    cluster: Cluster = "ringcast",
) -> None:
    """Print each sample of the topics as one line, until --count or Ctrl-C.

    A line on stderr says when the subscriber is registered: it gets every sample of publishers that come later.

    \b
    Examples:
      ringcast sub flights.JFK --via 127.0.0.1:5000
      ringcast sub flights.JFK flights.LGA --history 10 --json
      ringcast sub flights.JFK --count 1000 --latency-file latency.csv > /dev/null
    """
    end_on_sigterm()
    raise_descriptor_limit()
    with ExitStack() as stack:
        keep = stack.enter_context(_latencies(latency_file)) if latency_file else None
        subscriber = stack.enter_context(
            Subscriber(
                topics,
                list(via or []),
                history=history,
                reliability=reliability,
                durability=durability,
                host=host,
                port=port,
                advertise=advertise,
                cluster=cluster,
                patience_s=patience,
                trace=trace,
                on_mismatch=_warn,
                on_warning=warn,
                brokered=brokered,
                zone=zone,
            )
        )
        tell(f"subscribed to {', '.join(topics)}")
        try:
            _print(subscriber, count, -1.0 if wait is None else wait, as_json, keep)
        finally:
            if subscriber.lost:
                tell(f"lost {subscriber.lost} samples")


def topics(via: Via = None, as_json: AsJson = False, patience: Patience = 5.0, cluster: Cluster = "ringcast") -> None:
    """List the topics that have a publisher, or had one a few seconds ago.

    \b
    Example:
      ringcast topics --via 127.0.0.1:5000
    """
    with RingClient(via or [], cluster, patience) as client:
        found = client.run(list_topics)
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for topic in found:
        print(topic)
    if not found:
        tell("no topic has a publisher; `ringcast pub TOPIC` is one")


def _print(subscriber: Subscriber, count: int | None, wait_s: float, as_json: bool, keep: Keep | None) -> None:
    left = count
    out = sys.stdout.buffer
    while left is None or left > 0:
        samples = subscriber.receive_batch(wait_s)
        if not samples:
            raise NothingReceived(f"no sample came within {wait_s:g} s")
        if left is not None:
            samples = samples[:left]
            left -= len(samples)
        lines = (_as_json(sample) if as_json else sample.payload for sample in samples)
        out.write(b"".join(part for line in lines for part in (line, b"\n")))
        out.flush()
        if keep is not None:
            keep(samples)


@contextmanager
def _latencies(path: Path) -> Iterator[Keep]:
    """What writes samples to a CSV file. Raises LocalProtocolError for a path that no file can be made at."""
    try:
        number = _open_alone(path)
    except OSError as error:
        raise LocalProtocolError(f"cannot write {path}: {error.strerror}") from None
    file = os.fdopen(number, "w", newline="", encoding="utf-8")
    writer = csv.writer(file, lineterminator="\n")

    def keep(samples: list[Sample]) -> None:
        with _naming(path):
            writer.writerows(
                (sample.publisher, sample.topic, sample.sequence, sample.received_us - sample.published_us)
                for sample in samples
            )

    writer.writerow(["publisher", "topic", "sequence", "latency_us"])
    try:
        yield keep
    finally:
        with _naming(path):
            file.close()


def _open_alone(path: Path) -> int:
    """Open a file that nobody else writes to, and empty it only then. What is no file, as a pipe, may be shared."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        if stat.S_ISREG(os.fstat(number).st_mode):
            _lock(number)
            os.truncate(number, 0)
    except OSError:
        os.close(number)
        raise
    return number


def _lock(number: int) -> None:
    """Lock a file for as long as it is open, where its file system can."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BlockingIOError(error.errno, "another process writes to it") from None
    except OSError:
        return


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Writing to a file that is open already: errors of it name the file, which they do not of themselves."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


def _as_json(sample: Sample) -> bytes:
    shown: dict[str, str | int] = {
        "topic": sample.topic,
        "publisher": sample.publisher,
        "sequence": sample.sequence,
        "published_us": sample.published_us,
        "received_us": sample.received_us,
    }
    try:
        shown["payload"] = sample.payload.decode("utf-8")
    except UnicodeDecodeError:
        shown["payload_base64"] = base64.b64encode(sample.payload).decode("ascii")
    return json.dumps(shown, ensure_ascii=False).encode("utf-8")


def _warn(mismatch: Mismatch) -> None:
    tell(f"no match with publisher {mismatch.other} on {mismatch.topic}: {mismatch.text}")
