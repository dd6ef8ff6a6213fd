"""NATS core in the publish/subscribe benchmarks, through nats-py.

What gives it most here: no check of the subject for each sample, no limit on what waits for the callback, a flush by
nats-py itself whenever 2 MiB wait (its default) or the loop is idle. uvloop, other limits from 16 KiB on and a larger
read buffer were measured to make no difference beyond the noise.
"""

from __future__ import annotations

import asyncio
import sys
import time
from itertools import islice

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from experiments.bench.pubsub_report import RUN_S, counting, numbered, stamped

SUBJECT = "bench.topic"


def publisher(address: str, count: str, size: str, rate: str = "0") -> None:
    """Publishes so many samples of so many bytes."""
    asyncio.run(_publish(address, int(count), int(size), float(rate)))


def subscriber(address: str, count: str, size: str, timed: str = "") -> None:
    """Is called back for each sample, in the thread that reads the socket."""
    asyncio.run(_subscribe(address, int(count), int(size), bool(timed)))


async def _connect(address: str) -> Client:
    return await nats.connect(f"nats://{address}", skip_subject_validation=True)


async def _publish(address: str, count: int, size: int, rate: float) -> None:
    client = await _connect(address)
    payloads = numbered(size)
    sys.stdin.readline()
    publish = client.publish
    if rate:
        started_at = time.perf_counter()
        for number in range(count):
            await asyncio.sleep(started_at + number / rate - time.perf_counter())
            await publish(SUBJECT, stamped(next(payloads)))
    else:
        for payload in islice(payloads, count):
            await publish(SUBJECT, payload)
    await client.flush(RUN_S)
    sys.stdin.readline()


async def _subscribe(address: str, count: int, size: int, timed: bool) -> None:
    client = await _connect(address)
    done = asyncio.Event()
    take, report = counting(count, size, timed, done.set)

    async def on_message(message: Msg) -> None:
        take(message.data)

    await client.subscribe(SUBJECT, cb=on_message, pending_msgs_limit=0, pending_bytes_limit=0)
    await client.flush()
    print("ready", flush=True)
    await asyncio.wait_for(done.wait(), RUN_S)
    report()
    await client.close()
