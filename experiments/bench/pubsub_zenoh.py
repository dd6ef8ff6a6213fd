"""Zenoh in the publish/subscribe benchmarks: peer to peer, or two clients of a router. Reliable, Block, scouting off.

The router is the one inside the Python package, in a process that does nothing else: `zenohd` is the same library.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from itertools import islice
from typing import Any

import zenoh

from experiments.bench.pubsub_report import RUN_S, START_S, TOPIC, counting, numbered, paced, stamped


def router() -> None:
    """Routes for clients, at the endpoint that it prints, until it is ended."""
    endpoint = _free_endpoint()
    with zenoh.open(_config("router", [endpoint], [])):
        print(endpoint, flush=True)
        sys.stdin.readline()


def publisher(at: str, count: str, size: str, rate: str = "0") -> None:
    """Publishes through the router at an endpoint, or to whoever connects to the one it prints when that is `peer`."""
    endpoint = _free_endpoint() if at == "peer" else at
    config = _config("peer", [endpoint], []) if at == "peer" else _config("client", [], [endpoint])
    with zenoh.open(config) as session:
        declared = session.declare_publisher(
            TOPIC, congestion_control=zenoh.CongestionControl.BLOCK, reliability=zenoh.Reliability.RELIABLE
        )
        print(endpoint, flush=True)
        sys.stdin.readline()
        _wait_for_reader(declared)
        put = declared.put
        payloads = numbered(int(size))
        if float(rate):
            for _ in paced(int(count), float(rate)):
                put(stamped(next(payloads)))
        else:
            for payload in islice(payloads, int(count)):
                put(payload)
        sys.stdin.readline()


def subscriber(endpoint: str, mode: str, count: str, size: str, timed: str = "") -> None:
    """Is called back for each sample; `mode` is peer or client."""
    done = threading.Event()
    take, report = counting(int(count), int(size), bool(timed), done.set)

    def on_sample(sample: Any) -> None:
        take(sample.payload.to_bytes())

    with zenoh.open(_config(mode, [], [endpoint])) as session:
        declared: Any = session.declare_subscriber(TOPIC, on_sample)
        print("ready", flush=True)
        done.wait(RUN_S)
        report()
        declared.undeclare()


def _wait_for_reader(publisher: Any) -> None:
    """Until a subscriber is connected; the stubs of some releases type this wrongly."""
    deadline = time.monotonic() + START_S
    while not publisher.matching_status.matching and time.monotonic() < deadline:
        time.sleep(0.01)


def _config(mode: str, listen: list[str], connect: list[str]) -> Any:
    config = zenoh.Config()
    config.insert_json5("mode", json.dumps(mode))
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("listen/endpoints", json.dumps(listen))
    config.insert_json5("connect/endpoints", json.dumps(connect))
    return config


def _free_endpoint() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp/127.0.0.1:{probe.getsockname()[1]}"
