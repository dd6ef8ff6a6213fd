"""From captured packets to a latency on the wire for each delivery, beside that between the applications."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from broker.processes import ProcessFailed
from chord.errors import LocalProtocolError
from experiments.capture.sniffing import FOLDER
from experiments.capture.tokens import found
from experiments.traces.run import TRACES, RunInfo
from experiments.traces.spools import Damage, read_spool
from pubsub.trace import DeliveryTrace

WIRE = "wire.parquet"
"""Beside `traces/`: a row for each delivery, `wire_us` null where a packet was not seen at one end."""


@dataclass(slots=True)
class Sightings:
    """When samples were first seen on one host's interface, in microseconds since the epoch: by (publisher, sequence).

    `out` by the address that they went to as well; `came` of what arrived.
    """

    out: dict[tuple[int, int], dict[str, int]] = field(default_factory=dict)
    came: dict[tuple[int, int], int] = field(default_factory=dict)


class WireRow(msgspec.Struct, kw_only=True):
    """One delivery: `app_us` from publish to receive by the applications, `wire_us` from interface to interface."""

    run: str
    dissemination: str
    topic: str
    publisher: str
    subscriber: str
    sequence: int
    published_us: int
    app_us: int
    wire_us: int | None


def match(directory: Path, info: RunInfo) -> list[WireRow]:
    """The deliveries of a cell that was captured. Raises ProcessFailed when tshark cannot read what it wrote."""
    hosts: Mapping[str, Mapping[str, Any]] = info.extra["hosts"]
    publishers: list[Mapping[str, str]] = info.extra["publisher_ids"]
    subscribers: Mapping[str, str] = info.extra["subscriber_hosts"]
    index_of = {each["id"]: index for index, each in enumerate(publishers)}
    seen = {
        host: sightings(packets(directory / FOLDER / f"{host}.pcapng"), hosts[host]["address"])
        for host in {*(each["host"] for each in publishers), *subscribers.values()}
    }
    rows = []
    for delivery in deliveries(directory):
        index = index_of.get(delivery.publisher)
        there = subscribers.get(delivery.subscriber)
        if index is None or there is None:
            continue
        out, came = seen[publishers[index]["host"]].out, seen[there].came
        rows.append(
            WireRow(
                run=info.run,
                dissemination=delivery.mode,
                topic=delivery.topic,
                publisher=delivery.publisher,
                subscriber=delivery.subscriber,
                sequence=delivery.sequence,
                published_us=delivery.published_us,
                app_us=delivery.received_us - delivery.published_us,
                wire_us=wire_us(out, came, (index, delivery.sequence), hosts[there]["address"]),
            )
        )
    return rows


def wire_us(
    out: Mapping[tuple[int, int], Mapping[str, int]],
    came: Mapping[tuple[int, int], int],
    sample: tuple[int, int],
    address: str,
) -> int | None:
    """From the publisher's interface to the subscriber's; None unless it was seen at both.

    What went straight to the subscriber's address counts from that packet, else from the first one.
    """
    arrived, left = came.get(sample), out.get(sample)
    if arrived is None or not left:
        return None
    return arrived - left.get(address, min(left.values()))


def sightings(lines: Iterator[tuple[int, str, str, bytes]], own: str) -> Sightings:
    """From packets (time, source, destination, payload) at the interface of a host with the address `own`.

    A packet that is sent again does not count again.
    """
    seen = Sightings()
    for at_us, source, destination, payload in lines:
        for sample in found(payload):
            if source == own:
                seen.out.setdefault(sample, {}).setdefault(destination, at_us)
            elif destination == own:
                seen.came.setdefault(sample, at_us)
    return seen


def packets(path: Path) -> Iterator[tuple[int, str, str, bytes]]:
    """Each packet of a capture that carries something: time in us since the epoch, source, destination, payload."""
    fields = ("frame.time_epoch", "ip.src", "ip.dst", "tcp.payload")
    command = ["tshark", "-n", "-r", str(path), "-Y", "tcp.len > 0", "-T", "fields"]
    for name in fields:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProcessFailed(f"tshark cannot read {path}: {done.stderr.strip()}")
    for line in done.stdout.splitlines():
        at, source, destination, payload = line.split("\t")
        yield microseconds(at), source, destination, bytes.fromhex(payload)


def microseconds(seconds: str) -> int:
    """Seconds since the epoch with decimals, as tshark prints them, as whole microseconds, without rounding twice."""
    whole, _, decimals = seconds.partition(".")
    return int(whole) * 1_000_000 + int(decimals[:6].ljust(6, "0"))


def deliveries(directory: Path) -> Iterator[DeliveryTrace]:
    """Those in the traces of a cell."""
    damage = Damage()
    for path in sorted((directory / TRACES).glob("*.trace")) + sorted((directory / TRACES).glob("*.part")):
        for row in read_spool(path, damage):
            if isinstance(row, DeliveryTrace):
                yield row


def write(rows: list[WireRow], path: Path) -> Path:
    """Write them as Parquet."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise LocalProtocolError("--capture writes Parquet: pip install 'ringcast[analysis]'") from None
    kinds = {
        "run": pa.string(),
        "dissemination": pa.string(),
        "topic": pa.string(),
        "publisher": pa.string(),
        "subscriber": pa.string(),
        "sequence": pa.int64(),
        "published_us": pa.int64(),
        "app_us": pa.int64(),
        "wire_us": pa.int64(),
    }
    table = pa.Table.from_pylist([msgspec.to_builtins(row) for row in rows], pa.schema(list(kinds.items())))
    pq.write_table(table, path, compression="zstd")
    return path


def read(path: Path) -> list[WireRow]:
    """The rows of such a file."""
    import pyarrow.parquet as pq

    return msgspec.convert(pq.read_table(path).to_pylist(), list[WireRow])
