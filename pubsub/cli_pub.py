"""`ringcast pub`: lines of a file or of stdin as samples."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from chord.cli_options import Advertise, Cluster, Host, Patience, Port, Trace, Via
from chord.errors import LocalProtocolError, TooLarge
from chord.sockets import raise_descriptor_limit
from pubsub.cli_options import Brokered, Durability, Reliability, Zone, end_on_sigterm, tell, warn
from pubsub.mismatch import Mismatch
from pubsub.publisher import Publisher

SLOWEST = 1e-5
FASTEST = 1e9
"""Samples per second: one a day, and more than there are clock ticks. What lies beyond is a slip of the pen."""


def _checked_rate(rate: float) -> float:
    if rate != 0.0 and not SLOWEST <= rate <= FASTEST:
        raise typer.BadParameter(f"{rate:g} is no rate: 0 for no limit, or {SLOWEST:g} to {FASTEST:g} per second")
    return rate


def pub(
    topic: Annotated[str, typer.Argument(help="1 to 255 bytes of UTF-8.")],
    via: Via = None,
    file: Annotated[
        Path | None,
        typer.Option(
            help="Publish the lines of this file.", metavar="FILE", exists=True, dir_okay=False, readable=True
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(help="Stop after so many samples; a --file with fewer lines starts over.", min=0, max=sys.maxsize),
    ] = None,
    rate: Annotated[float, typer.Option(help="Samples per second at most; 0: no limit.", callback=_checked_rate)] = 0.0,
    history: Annotated[int, typer.Option(help="Past samples to offer to late joiners.", min=0)] = 0,
    reliability: Reliability = "at_least_once",
    durability: Durability = None,
    brokered: Brokered = False,
    zone: Zone = None,
    wait_subscribers: Annotated[int, typer.Option(help="Wait for so many subscribers first.", min=0)] = 0,
    timeout: Annotated[
        float, typer.Option(help="Seconds to wait for subscribers, and for delivery at the end.", min=0.0)
    ] = 30.0,
    trace: Trace = None,
    host: Host = "127.0.0.1",
    port: Port = 0,
    advertise: Advertise = None,
    patience: Patience = 5.0,
    cluster: Cluster = "ringcast",
) -> None:
    """Publish each line of FILE, or of stdin, as one sample, without its line end; any bytes will do.

    Ends when every line has been received by every at-least-once subscriber that is connected, or was registered
    before; exit code 1 when that takes longer than --timeout.

    \b
    Examples:
      echo departed | ringcast pub flights.JFK --via 127.0.0.1:5000
      ringcast pub flights.JFK --file departures.txt --rate 100 --history 50
      tail -f log | ringcast pub log.web --reliability best_effort
    """
    end_on_sigterm()
    raise_descriptor_limit()
    with ExitStack() as stack:
        source = stack.enter_context(file.open("rb")) if file else sys.stdin.buffer
        publisher = stack.enter_context(
            Publisher(
                list(via or []),
                history=history,
                reliability=reliability,
                durability=durability,
                host=host,
                port=port,
                advertise=advertise,
                cluster=cluster,
                block_s=max(timeout, 0.1),
                patience_s=patience,
                trace=trace,
                on_mismatch=_warn,
                on_warning=warn,
                brokered=brokered,
                zone=zone,
            )
        )
        publisher.advertise(topic)
        if wait_subscribers:
            publisher.wait_for_readers(topic, wait_subscribers, timeout)
        lines = _lines(source, count is not None and file is not None)
        published = 0
        for published, line in enumerate(_paced(islice(lines, count), rate), 1):
            try:
                publisher.publish(topic, line)
            except TooLarge as error:
                raise TooLarge(f"line {published} of {file or 'stdin'}: {error}") from None
        publisher.flush(timeout)
    tell(f"published {published} samples on {topic}")


def _lines(source: BinaryIO, again: bool) -> Iterator[bytes]:
    """The lines without their ends; with `again`, from the top after the last one, for ever."""
    lines: Iterable[bytes] = source
    if again:
        kept = source.readlines()
        if not kept:
            raise LocalProtocolError("--count with an empty --file: there is no line to publish")
        lines = chain.from_iterable(repeat(kept))
    return (line.removesuffix(b"\n") for line in lines)


def _paced(lines: Iterator[bytes], rate: float) -> Iterator[bytes]:
    """The lines, no more than `rate` of them per second (0: as they come)."""
    if not rate:
        yield from lines
        return
    due = time.monotonic()
    for line in lines:
        wait_s = due - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        # A source that was late does not make up for it in a burst.
        due = max(due, time.monotonic() - 1.0 / rate) + 1.0 / rate
        yield line


def _warn(mismatch: Mismatch) -> None:
    tell(f"no match with subscriber {mismatch.other} on {mismatch.topic}: {mismatch.text}")
