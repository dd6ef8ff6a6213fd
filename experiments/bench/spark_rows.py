"""Rows of lookups by the million for `bench spark-gold`: simulated in static rings, and labelled so.

Hops are those of the static engine, times are drawn: a round trip a hop. Popular names are looked up more often than
others, one lookup in 500 fails, one in 50 tells its way. What is made depends on the seed alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from experiments.traces.manifest import Manifest, Store
from experiments.traces.run import TRACES, RunInfo
from experiments.traces.schema import LOOKUP, plain_type
from experiments.traces.writing import COMPRESSION, ROWS_PER_FILE, ROWS_PER_GROUP
from sim.commit import checked_out
from sim.static.engine import walker
from sim.static.making import drawn
from sim.static.report import fastest
from sim.static.ring import Identifiers, Places, Ring

SIZES = (1 << 10, 1 << 12, 1 << 14, 1 << 16)
NAMES = 1 << 18
CLIENTS = 64
STARTED_US = 1_700_000_000_000_000
LASTS_US = 600_000_000
SUCCESSORS = 8
FAILS = 1 / 500
TELLS_WAY = 1 / 50
ROUND_TRIP_US = 250.0
ROWS_AT_ONCE = ROWS_PER_GROUP
DIGITS = np.array([f"{byte:02x}" for byte in range(256)], "S2")
HOP = LOOKUP.arrow().field("hop_list").type.value_type


@dataclass(frozen=True, slots=True)
class Piece:
    """One Parquet file to be made: rows of one ring, and a seed of its own."""

    path: Path
    nodes: int
    rows: int
    seed: int


def generate(run: Path, rows: int, workers: int, made: Callable[[int], None] = lambda _rows: None) -> None:
    """Make a run of so many lookups, a part a ring size, unless it is there; `made` hears of rows."""
    if (run / "whole").exists():
        return
    shutil.rmtree(run, ignore_errors=True)
    folder = run / "parquet" / LOOKUP.name
    folder.mkdir(parents=True)
    for nodes in SIZES:
        info_of(nodes).save(run / f"n{nodes}")
        (run / f"n{nodes}" / TRACES).mkdir()
    pieces = list(_pieces(folder, rows))
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for piece in pool.map(_make, pieces):
            made(piece.rows)
    names = {f"{LOOKUP.name}/{piece.path.name}": piece.rows for piece in pieces}
    manifest = Manifest(generation=1)
    manifest.bronze[LOOKUP.name] = names
    manifest.pending[LOOKUP.name] = list(names)
    Store(run, manifest).save()
    (run / "whole").touch()


def info_of(nodes: int) -> RunInfo:
    """What run.json says of one ring size."""
    return RunInfo(
        run=f"generated-{nodes}",
        source="static",
        cluster="generated",
        ring_size=nodes,
        successors=SUCCESSORS,
        bits=64,
        commit=checked_out(),
        started_us=STARTED_US,
        seed=nodes,
        vnodes=1,
        extra={"note": "rows of a benchmark: hops of static rings, times drawn"},
    )


def _pieces(folder: Path, rows: int) -> Iterator[Piece]:
    """Files of 2,000,000 rows, the ring sizes in turn, so that the first of them are a smaller run of the same kind."""
    for number, begin in enumerate(range(0, rows, ROWS_PER_FILE)):
        path = folder / f"000000-{number:03d}.parquet"
        yield Piece(path, SIZES[number % len(SIZES)], min(ROWS_PER_FILE, rows - begin), number)


def _make(piece: Piece) -> Piece:
    ring = drawn(piece.nodes, 1, np.random.default_rng([piece.nodes, 1]))
    keys = np.random.default_rng([piece.nodes, 2]).integers(0, 2**64 - 1, NAMES, np.uint64, endpoint=True)
    source = _Rows(ring, keys, info_of(piece.nodes), np.random.default_rng([piece.nodes, 3, piece.seed]))
    with pq.ParquetWriter(piece.path, LOOKUP.arrow(), compression=COMPRESSION) as writer:
        for begin in range(0, piece.rows, ROWS_AT_ONCE):
            count = min(ROWS_AT_ONCE, piece.rows - begin)
            writer.write_batch(source.batch(begin / piece.rows, count), row_group_size=ROWS_PER_GROUP)
    return piece


class _Rows:
    """Lookups in one ring, batch after batch."""

    def __init__(self, ring: Ring, keys: Identifiers, info: RunInfo, rng: np.random.Generator) -> None:
        self._ring, self._keys, self._info, self._rng = ring, keys, info, rng
        self._owners = ring.owners(keys)
        self._nodes = _hexadecimal(ring.row[:-1])
        self._addresses = pa.array([f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}:5000" for n in range(ring.size)])
        self._key_texts = _hexadecimal(keys)
        self._names = pa.array([f"topic/{number}" for number in range(keys.size)])
        self._walk = walker(fastest())

    def batch(self, share: float, count: int) -> pa.RecordBatch:
        """So many rows, begun when this share of the run was over."""
        rng = self._rng
        which = (rng.random(count) ** 3 * NAMES).astype(np.int64)
        starts = rng.integers(0, self._ring.size, count)
        walks = self._walk(self._ring, starts, self._keys[which], 0, None)
        hops = walks.hops.astype(np.int32)
        failed = rng.random(count) < FAILS
        timeouts = np.where(failed, 3, rng.random(count) < 0.01).astype(np.int32)
        taken = rng.gamma(hops + 1.0, ROUND_TRIP_US) + timeouts * 50_000.0
        owners = self._owners[which]
        columns = {
            "trace_id": _hexadecimal(rng.integers(0, 2**64 - 1, count, np.uint64, endpoint=True)),
            "mode": _labels(rng.integers(0, 2, count), ["iterative", "recursive"]),
            "origin": _labels(rng.integers(0, CLIENTS, count), [f"client-{number}" for number in range(CLIENTS)]),
            "name": self._names.take(pa.array(which)),
            "key": self._key_texts.take(pa.array(which)),
            "owner": self._nodes.take(pa.array(owners, mask=failed)),
            "owner_address": pa.DictionaryArray.from_arrays(pa.array(owners, pa.int32()), self._addresses),
            "outcome": _labels(failed, ["ok", "PeerUnreachable"]),
            "hops": pa.array(hops),
            "timeouts": pa.array(timeouts),
            "start_us": pa.array(STARTED_US + int(share * LASTS_US) + np.sort(rng.integers(0, LASTS_US // 20, count))),
            "duration_us": pa.array(taken.astype(np.int64)),
            "owner_us": pa.array(rng.gamma(1.0, ROUND_TRIP_US, count).astype(np.int64)),
            "hop_list": self._ways(starts, which, rng.random(count) < TELLS_WAY),
        }
        schema = LOOKUP.arrow()
        arrays = [columns.get(field.name, self._constant(field, count)) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _constant(self, field: pa.Field, count: int) -> pa.Array:
        value = getattr(self._info, field.name, None)
        return pa.repeat(pa.scalar(value, plain_type(field.type)), count).cast(field.type)

    def _ways(self, starts: Places, which: Places, told: NDArray[np.bool_]) -> pa.Array:
        """The exchanges of those lookups that tell them, by the rule of the static ring; null of the others."""
        some = np.flatnonzero(told)
        walked = _walked(self._ring, starts[some], self._keys[which[some]])
        lengths = np.zeros(told.size, np.int64)
        lengths[some] = (walked >= 0).sum(axis=1)
        nodes = walked[walked >= 0]
        ends = np.cumsum(lengths)
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        index = np.arange(nodes.size) - np.repeat(ends - lengths, lengths)
        steps = {
            "i": pa.array(index.astype(np.int32)),
            "node": self._nodes.take(pa.array(nodes)),
            "address": self._addresses.take(pa.array(nodes)),
            "rtt_us": pa.array(self._rng.gamma(1.0, ROUND_TRIP_US, nodes.size).astype(np.int64)),
            "timed_out": pa.array(self._rng.random(nodes.size) < 0.005),
        }
        each = pa.StructArray.from_arrays([steps[field.name] for field in HOP], fields=list(HOP))
        return pa.ListArray.from_arrays(pa.array(offsets), each, mask=pa.array(~told))


def _walked(ring: Ring, starts: Places, keys: Identifiers) -> Places:
    """Who is asked on each way, row by row, from the first on; -1 after the last."""
    goals = ring.before(ring.owners(keys))
    at, columns = starts.copy(), [starts.copy()]
    going = np.flatnonzero(at != goals)
    while going.size:
        distance = (ring.row[goals[going]] - ring.row[at[going]]).astype(np.float64)
        _, exponents = np.frexp(distance)
        fingers = ring.row[at[going]] + (np.uint64(1) << (exponents - 1).astype(np.uint64))
        at[going] = ring.owners(fingers)
        column = np.full(starts.size, -1)
        column[going] = at[going]
        columns.append(column)
        going = going[at[going] != goals[going]]
    return np.stack(columns, axis=1)


def _hexadecimal(identifiers: Identifiers) -> pa.Array:
    """As text, 16 digits each."""
    digits = DIGITS[np.ascontiguousarray(identifiers.astype(">u8")).view(np.uint8)]
    offsets = np.arange(identifiers.size + 1, dtype=np.int32) * 16
    return pa.StringArray.from_buffers(identifiers.size, pa.py_buffer(offsets), pa.py_buffer(digits.tobytes()))


def _labels(which: NDArray[np.generic], texts: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int32)), pa.array(texts))
