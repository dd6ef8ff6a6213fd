"""The benchmarks by name, and what runs them."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from chord.errors import LocalProtocolError
from experiments.bench.measurement import Figure

# Each module has `bench(runs, progress)`; what it imports waits until it is wanted.
MODULES = {
    "lookup": "experiments.bench.lookup",
    "lookup-recursive": "experiments.bench.lookup_recursive",
    "registry-get": "experiments.bench.registry_get",
    "dht-peers": "experiments.bench.dht_peers",
    "dht-peers-kill": "experiments.bench.dht_peers_kill",
    "ring-start": "experiments.bench.ring_start",
    "ring-kill": "experiments.bench.ring_kill",
    "pubsub-direct": "experiments.bench.pubsub_direct",
    "pubsub-brokered": "experiments.bench.pubsub_brokered",
    "pubsub-brokered-latency": "experiments.bench.pubsub_brokered_latency",
    "failover": "experiments.bench.failover",
    "clients": "experiments.bench.clients",
    "sim-events": "experiments.bench.sim_events",
    "sim-lookups": "experiments.bench.sim_lookups",
    "sim-static": "experiments.bench.sim_static",
    "spark-gold": "experiments.bench.spark_gold",
    "spark-small-files": "experiments.bench.spark_small_files",
    "static-sweep": "experiments.bench.static_sweep",
}


# What each of them imports, itself or in the processes that it starts, that only an extra of setup.cfg brings.
ZONES = {"kazoo": "brokers", "pyspark": "analysis"}
NATS_AND_ZENOH = {"nats": "bench", "zenoh": "bench"}
SPARK = {"pyarrow": "analysis", "pyspark": "analysis"}
DHTS = {"kademlia": "bench", "opendht": "bench"}
PACKAGES = {
    "registry-get": ZONES,
    "dht-peers": DHTS,
    "dht-peers-kill": DHTS,
    "pubsub-direct": {"zenoh": "bench"},
    "pubsub-brokered": ZONES | NATS_AND_ZENOH,
    "pubsub-brokered-latency": ZONES | NATS_AND_ZENOH,
    "failover": ZONES,
    "clients": ZONES,
    "sim-static": {"numba": "numba"},
    "spark-gold": SPARK | {"duckdb": "bench", "numba": "numba"},
    "spark-small-files": SPARK | {"numba": "numba"},
    "static-sweep": SPARK | {"numba": "numba"},
}


def select(names: list[str]) -> list[str]:
    """The benchmarks to run: those named, or all. Raises LocalProtocolError for one that is unknown or lacks a package.

    Packages are looked for before anything runs: what lacks one would fail late, and in a process of its own.
    """
    unknown = [name for name in names if name not in MODULES]
    if unknown:
        raise LocalProtocolError(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(MODULES)}")
    chosen = names or list(MODULES)
    missing = {
        package: extra
        for name in chosen
        for package, extra in PACKAGES.get(name, {}).items()
        if find_spec(package) is None
    }
    if missing:
        extras = ",".join(sorted(set(missing.values())))
        they = "is" if len(missing) == 1 else "are"
        raise LocalProtocolError(
            f"bench {' '.join(names)}".rstrip() + f" needs {', '.join(sorted(missing))}, which {they} not installed: "
            f"`pip install 'ringcast[{extras}]'`, or `make bench` in a checkout"
        )
    return chosen


def bench(names: list[str], runs: int, as_json: bool, out: Path | None = None) -> None:
    """Run benchmarks and print each figure as it is measured: a line of JSON, or a line to read.

    `out` gets a line of JSON for each as well; what an earlier measurement left there goes once the first is there.
    """
    written = b""
    for name in select(names):
        figures: list[Figure] = import_module(MODULES[name]).bench(runs, _say)
        for measured in figures:
            print(measured.as_json().decode() if as_json else measured.as_text(), flush=True)
            written += measured.as_json() + b"\n"
        if out is not None:
            out.write_bytes(written)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
