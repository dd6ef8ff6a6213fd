"""`ringcast sub`: samples as lines on stdout."""

from __future__ import annotations

import base64
import json
import sys
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated

import typer

from broker.cli_clients import Autokill, Instances, Plot, check_addresses
from broker.cli_plot import check_plot
from broker.instances import STARTING, WRITING, Instance, divide
from broker.latency_files import OURS, THEIRS, Keep, keeping, row_of_ours, row_of_theirs
from broker.measures import Latencies
from chord.cli_options import Advertise, AsJson, Cluster, Host, Patience, Port, Trace, Via
from chord.names import normalise
from chord.sockets import raise_descriptor_limit
from pubsub.cli_options import Brokered, Durability, Reliability, Zone, tell, warn
from pubsub.errors import NothingReceived
from pubsub.mismatch import Mismatch
from pubsub.profile import profile
from pubsub.sample import Sample
from pubsub.subscriber import Subscriber


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
    latencies: Annotated[
        Path | None,
        typer.Option(help="CSV to write: publisher,topic,total_time_seconds of each sample.", metavar="FILE.csv"),
    ] = None,
    plot: Plot = None,
    instances: Instances = 1,
    autokill: Autokill = None,
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
    Several --instances each get every sample, and --count of them; their lines begin with their numbers, [1] and so
    on (with --json there is a field), and their CSV files are FILE-1.csv and so on. --plot draws the latency of each
    sample over time, and how latencies are distributed.

    \b
    Examples:
      ringcast sub flights.JFK --via 127.0.0.1:5000
      ringcast sub flights.JFK flights.LGA --history 10 --json
      ringcast sub flights.JFK --count 1000 --latency-file latency.csv > /dev/null
      ringcast sub A --instances 10 --plot latency.png > /dev/null
    """
    raise_descriptor_limit()
    profile(reliability, history, durability)
    check_addresses(instances, port, advertise)
    names = list(dict.fromkeys(map(normalise, topics)))
    measured: list[IO[bytes]] = []
    if plot:
        check_plot(plot)
        measured = [TemporaryFile() for _ in range(instances)]  # noqa: SIM115  # open for as long as the process
    instance = divide(instances, autokill, partial(_draw, plot, names, measured) if plot else None)
    with ExitStack() as stack:
        keeps: list[Keep] = []
        for path, header, row in ((latency_file, OURS, row_of_ours), (latencies, THEIRS, row_of_theirs)):
            if path:
                keeps.append(stack.enter_context(keeping(instance.path(path), header, row)))
        if measured:
            keeps.append(Latencies(measured[instance.number - 1], names).keep)
        # One after the other, so that not all of them find the same zone to be the one with the fewest clients.
        with instance.alone(STARTING) if brokered and zone is None else nullcontext():
            subscriber = stack.enter_context(
                Subscriber(
                    names,
                    list(via or []),
                    history=history,
                    reliability=reliability,
                    durability=durability,
                    host=host,
                    port=instance.port(port),
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
            _print(subscriber, count, -1.0 if wait is None else wait, as_json, instance, keeps)
        finally:
            if subscriber.lost:
                tell(f"lost {subscriber.lost} samples")


def _print(
    subscriber: Subscriber, count: int | None, wait_s: float, as_json: bool, instance: Instance, keeps: list[Keep]
) -> None:
    left = count
    out = sys.stdout.buffer
    prefix = b"" if as_json else instance.prefix.encode()
    while left is None or left > 0:
        samples = subscriber.receive_batch(wait_s)
        if not samples:
            raise NothingReceived(f"no sample came within {wait_s:g} s")
        if left is not None:
            samples = samples[:left]
            left -= len(samples)
        lines = (_as_json(sample, instance) if as_json else sample.payload for sample in samples)
        text = b"".join(part for line in lines for part in (prefix, line, b"\n"))
        with instance.alone(WRITING):
            out.write(text)
            out.flush()
        for keep in keeps:
            keep(samples)


def _draw(plot: Path, topics: list[str], measured: list[IO[bytes]]) -> None:
    tell(f"drawing {plot} ...")
    from broker.charts import draw_latencies  # heavy, and needed only now

    if not draw_latencies(plot, topics, measured):
        tell(f"no sample came, so {plot} was not drawn")


def _as_json(sample: Sample, instance: Instance) -> bytes:
    shown: dict[str, str | int] = {
        "topic": sample.topic,
        "publisher": sample.publisher,
        "sequence": sample.sequence,
        "published_us": sample.published_us,
        "received_us": sample.received_us,
    }
    if instance.count > 1:
        shown["instance"] = instance.number
    try:
        shown["payload"] = sample.payload.decode("utf-8")
    except UnicodeDecodeError:
        shown["payload_base64"] = base64.b64encode(sample.payload).decode("ascii")
    return json.dumps(shown, ensure_ascii=False).encode("utf-8")


def _warn(mismatch: Mismatch) -> None:
    tell(f"no match with publisher {mismatch.other} on {mismatch.topic}: {mismatch.text}")
