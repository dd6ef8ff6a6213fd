"""`bench sim-static`: lookups in a static ring of a million nodes beside a plain search at each hop; memory of 2^24."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.bench.measurement import Figure, Progress, figure
from sim.static.engine import walker
from sim.static.making import drawn
from sim.static.report import Engine
from sim.static.ring import Identifiers, Places
from sim.static.study import AT_ONCE
from sim.static.walking import Walks

NODES = 1 << 20
LOOKUPS = 1_000_000
WITH_LIST = 40
"""2 log2 of the nodes."""

LARGEST = ["--nodes", "2^24", "--lookups", "2^20", "--json"]
TURN = 8 * AT_ONCE


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Lookups a second of one core, by fingers alone, the same ones by both; and what 2^24 nodes take.

    The reference keeps the sorted identifiers and nothing else, and searches them at each hop for where the finger
    begins, for all lookups of a block at once. Blocks are equally large, and what is looked up is drawn beforehand.
    """
    progress(f"sim-static: drawing {NODES} identifiers and {LOOKUPS} keys")
    rng = np.random.default_rng(1)
    ring = drawn(NODES, 1, rng)
    starts = rng.integers(0, NODES, LOOKUPS)
    keys = rng.integers(0, 2**64 - 1, LOOKUPS, np.uint64, endpoint=True)
    compiled, plain = walker(Engine.numba), walker(Engine.numpy)
    for successors in (0, WITH_LIST):
        compiled(ring, starts[:AT_ONCE], keys[:AT_ONCE], successors, None)
    ours, numpy, listed, searched = [], [], [], []
    for run in range(runs):
        progress(f"sim-static: run {run + 1} of {runs}, {LOOKUPS} lookups among {NODES}")
        searched.append(_per_s(lambda some: _searched(ring.row[:-1], starts[some], keys[some])))
        ours.append(_per_s(lambda some: compiled(ring, starts[some], keys[some], 0, None)))
        numpy.append(_per_s(lambda some: plain(ring, starts[some], keys[some], 0, None)))
        listed.append(_per_s(lambda some: compiled(ring, starts[some], keys[some], WITH_LIST, None)))
    some = slice(0, TURN)
    walks: Walks = compiled(ring, starts[some], keys[some], 0, None)
    assert (walks.hops == _searched(ring.row[:-1], starts[some], keys[some])).all(), "both go the same ways"
    progress("sim-static: 2^24 nodes in a process of their own")
    largest = _largest()
    notes = {
        "nodes": NODES,
        "bytes_per_node": round(ring.nbytes / NODES, 2),
        "mean_hops": round(float(walks.hops.mean()), 3),
        "numpy_lookups_per_s": round(float(np.median(numpy))),
        f"lookups_per_s_with_{WITH_LIST}_successors": round(float(np.median(listed))),
        "peak_mb_of_2_24_nodes": round(largest["peak_mb"]),
        "lookups_per_s_of_2_24_nodes": round(largest["lookups_per_s"]),
        "mean_hops_of_2_24_nodes": round(largest["hops"]["mean"], 3),
    }
    return [figure("sim-static", ours, searched, "NumPy's searchsorted at each hop; ours = lookups", "1/s", notes)]


def _per_s(look_up: Callable[[slice], object]) -> float:
    """Lookups a second, in blocks."""
    began = time.perf_counter()
    for begin in range(0, LOOKUPS, AT_ONCE):
        look_up(slice(begin, begin + AT_ONCE))
    return LOOKUPS / (time.perf_counter() - began)


def _searched(identifiers: Identifiers, starts: Places, keys: Identifiers) -> Places:
    """Hops to the key's predecessor, by nothing but searches in the sorted identifiers."""
    size = identifiers.size
    befores = (np.searchsorted(identifiers, keys) - 1) % size
    hops = np.zeros(keys.size, np.int64)
    going = np.flatnonzero((starts != befores) & (starts != (befores + 1) % size))
    at, goals = starts[going], befores[going]
    while going.size:
        way = (identifiers[goals] - identifiers[at]).astype(np.float64)
        _, exponents = np.frexp(way)
        powers = np.uint64(1) << (exponents - 1).astype(np.uint64)
        at = np.searchsorted(identifiers, identifiers[at] + powers) % size
        hops[going] += 1
        left = at != goals
        going, at, goals = going[left], at[left], goals[left]
    return hops


def _largest() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "sim", "static", *LARGEST], capture_output=True, text=True, check=True, timeout=600
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told
