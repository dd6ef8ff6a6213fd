"""`bench failover`: how long a subscriber gets nothing when its zone's primary is killed, or is stopped cleanly.

One publisher, one subscriber, a zone of three brokers; whoever is ended is replaced before the next one.
"""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import ExitStack
from typing import Any, NamedTuple

from broker.processes import end, read_line, start, write_line
from broker.zookeeper import SESSION_S
from experiments.bench.measurement import Figure, Progress, figure
from experiments.bench.pubsub_zone import BenchZone

REPLICAS = 3
RATE = 200.0
KILLS_A_RUN = 2
SHORT_S = 2.0
CLEAN_MS = 300.0
ANSWER_S = 90.0


class Seen(NamedTuple):
    """What the traffic saw: milliseconds for each kill -9 and each clean stop, and what became of the samples."""

    killed_ms: list[float]
    stopped_ms: list[float]
    samples: dict[str, int]


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Milliseconds from kill -9 until a sample published after it arrives, against the session time-out.

    Before the last figure: the same at the default time-out, and the longest pause around a clean stop.
    """
    kills = KILLS_A_RUN * runs
    default = _measure(SESSION_S, kills, 0, progress)
    short = _measure(SHORT_S, kills, kills, progress)
    return [
        _figure(default.killed_ms, SESSION_S * 1e3, f"the session time-out, {SESSION_S:g} s", "kill -9", default),
        _figure(short.stopped_ms, CLEAN_MS, "what a clean stop may take", "SIGTERM", short),
        _figure(short.killed_ms, SHORT_S * 1e3, f"the session time-out, {SHORT_S:g} s", "kill -9", short),
    ]


def _measure(session_s: float, kills: int, stops: int, progress: Progress) -> Seen:
    killed: list[float] = []
    stopped: list[float] = []
    with ExitStack() as stack:
        zone = BenchZone(stack, REPLICAS, session_s)
        traffic = start(
            ["experiments.bench.pubsub_traffic", zone.via, str(RATE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        stack.callback(end, traffic)
        read_line(traffic)
        for number in range(kills):
            progress(f"failover: kill {number + 1} of {kills} at a session time-out of {session_s:g} s")
            primary = zone.primary()
            at_us = time.time_ns() // 1000
            zone.zones.kill(primary)
            killed.append((_ask(traffic, f"after {at_us}") - at_us) / 1e3)
            zone.replenish()
        for number in range(stops):
            progress(f"failover: clean stop {number + 1} of {stops}")
            primary = zone.primary()
            at_us = time.time_ns() // 1000
            zone.zones.terminate(primary)
            zone.replenish()
            stopped.append(_ask(traffic, f"pause {at_us}") / 1e3)
        return Seen(killed, stopped, _ask(traffic, "end"))


def _ask(traffic: subprocess.Popen[bytes], command: str) -> Any:
    write_line(traffic, command)
    return json.loads(read_line(traffic, ANSWER_S))


def _figure(took_ms: list[float], allowed_ms: float, against: str, how: str, seen: Seen) -> Figure:
    notes = {
        "how": how,
        **seen.samples,
        "samples_per_s": RATE,
        "replicas": REPLICAS,
        "ms_each": [round(value) for value in took_ms],
    }
    return figure("failover", took_ms, [allowed_ms] * len(took_ms), against, "ms", notes)
