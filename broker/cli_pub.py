"""`ringcast pub`: lines of a file or of stdin as samples, or samples that it makes up."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated

import typer

from broker.cli_clients import Autokill, Instances, Plot, check_addresses
from broker.cli_plot import check_plot
from broker.instances import STARTING, divide
from broker.measures import Rates
from broker.sources import lines_of, made_up, paced
from chord.cli_options import Advertise, Cluster, Host, Patience, Port, Trace, Via
from chord.errors import LocalProtocolError, TooLarge
from chord.names import normalise
from chord.sockets import raise_descriptor_limit
from pubsub.cli_options import Brokered, Durability, Reliability, Zone, tell, warn
from pubsub.limits import MAX_PAYLOAD_BYTES
from pubsub.mismatch import Mismatch
from pubsub.profile import profile
from pubsub.publisher import Publisher

SLOWEST = 1e-5
FASTEST = 1e9
"""Samples per second: one a day, and more than there are clock ticks. What lies beyond is a slip of the pen."""


def _checked_rate(rate: float) -> float:
    if rate != 0.0 and not SLOWEST <= rate <= FASTEST:
        raise typer.BadParameter(f"{rate:g} is no rate: 0 for no limit, or {SLOWEST:g} to {FASTEST:g} per second")
    return rate


def pub(
    topics: Annotated[list[str], typer.Argument(help="1 to 255 bytes of UTF-8.", metavar="TOPIC...")],
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
    payload: Annotated[
        int | None,
        typer.Option(
            help="Publish made-up samples of so many bytes instead of lines; for ever without --count.",
            metavar="BYTES",
            min=1,
            max=MAX_PAYLOAD_BYTES,
        ),
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
    plot: Plot = None,
    instances: Instances = 1,
    autokill: Autokill = None,
    trace: Trace = None,
    host: Host = "127.0.0.1",
    port: Port = 0,
    advertise: Advertise = None,
    patience: Patience = 5.0,
    cluster: Cluster = "ringcast",
) -> None:
    """Publish each line of FILE, or of stdin, as one sample, without its line end; any bytes will do.

    Several topics are published in turn, a sample on each. Ends when every line has been received by every
    at-least-once subscriber that is connected, or was registered before; exit code 1 when that takes longer than
    --timeout. Several --instances each publish all of FILE, or of what --payload makes up, and --count of it; their
    messages begin with their numbers, [1] and so on. --plot draws the rate that was achieved over time.

    \b
    Examples:
      echo departed | ringcast pub flights.JFK --via 127.0.0.1:5000
      ringcast pub flights.JFK --file departures.txt --rate 100 --history 50
      tail -f log | ringcast pub log.web --reliability best_effort
      ringcast pub A B --payload 100 --count 120 --rate 2 --instances 2
    """
    raise_descriptor_limit()
    profile(reliability, history, durability)
    check_addresses(instances, port, advertise)
    names = list(map(normalise, topics))
    if payload is not None and file is not None:
        raise LocalProtocolError("--payload makes samples up, so there is none of --file to publish; give one of them")
    if instances > 1 and payload is None and file is None:
        raise LocalProtocolError(f"{instances} instances cannot share stdin; give --file FILE or --payload BYTES")
    measured: list[IO[bytes]] = []
    if plot:
        check_plot(plot)
        measured = [TemporaryFile() for _ in range(instances)]  # noqa: SIM115  # open for as long as the process
    instance = divide(instances, autokill, partial(_draw, plot, rate, measured) if plot else None)
    with ExitStack() as stack:
        samples = paced(islice(_source(file, payload, count, stack), count), rate)
        # One after the other, so that not all of them find the same zone to be the one with the fewest clients.
        with instance.alone(STARTING) if brokered and zone is None else nullcontext():
            publisher = stack.enter_context(
                Publisher(
                    list(via or []),
                    history=history,
                    reliability=reliability,
                    durability=durability,
                    host=host,
                    port=instance.port(port),
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
            for topic in names:
                publisher.advertise(topic)
        if wait_subscribers:
            for topic in names:
                publisher.wait_for_readers(topic, wait_subscribers, timeout)
        rates = Rates(measured[instance.number - 1]) if measured else None
        published = 0
        for published, (topic, sample) in enumerate(zip(cycle(names), samples, strict=False), 1):
            try:
                publisher.publish(topic, sample)
            except TooLarge as error:
                raise TooLarge(f"line {published} of {file or 'stdin'}: {error}") from None
            if rates is not None:
                rates.count(published)
        if rates is not None:
            rates.count(published, last=True)
        publisher.flush(timeout)
    tell(f"published {published} samples on {', '.join(topics)}")


def _source(file: Path | None, payload: int | None, count: int | None, stack: ExitStack) -> Iterator[bytes]:
    """What is published: for ever with --payload, and with a --file and a --count."""
    if payload is not None:
        return made_up(payload)
    source = stack.enter_context(file.open("rb")) if file else sys.stdin.buffer
    return lines_of(source, count is not None and file is not None)


def _draw(plot: Path, rate: float, measured: list[IO[bytes]]) -> None:
    tell(f"drawing {plot} ...")
    from broker.charts import draw_rates  # heavy, and needed only now

    if not draw_rates(plot, rate, measured):
        tell(f"nothing was published, so {plot} was not drawn")


def _warn(mismatch: Mismatch) -> None:
    tell(f"no match with subscriber {mismatch.other} on {mismatch.topic}: {mismatch.text}")
