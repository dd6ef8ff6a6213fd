"""The same names looked up through the same nodes of a real ring and of a simulated one of the same members.

Both have the same routing tables once both are ideal, and the same code reads them, so each lookup has to take the same
path. What could tell them apart is left out or told: tables are compared, those of the real ring also before and after
the lookups; clients keep no owners, and know one node each, the one first asked; and a lookup in which somebody did not
answer in time, which goes round that one, is asked again and counted, since a real process may stand still for a moment
and a simulated one does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from chord.client import Mode, RingClient
from chord.errors import RingcastError
from chord.lookup import Walk
from chord.round_trips import SUSPECT_FOR_S
from experiments.overlay.asked import take
from experiments.overlay.ideal import faults
from experiments.overlay.judged import TOLD_AT_MOST, Comparison, Way, differing, judged, place_of
from experiments.overlay.simulated import taken_of, twin
from experiments.overlay.snapshot import Snapshot, commit
from experiments.overlay.told import Told
from experiments.sweep.names import names
from experiments.traces.run import TRACES, RunInfo
from sim.cluster import Cluster
from sim.traces import Traces

TRIES = 5
"""Of a lookup, as long as somebody does not answer in time."""


def compare(
    snapshot: Snapshot,
    lookups: int,
    modes: Sequence[Mode],
    seed: int,
    patience_s: float = 5.0,
    out: Path | None = None,
    host: str = "127.0.0.1",
    told: Told = lambda *_: None,
) -> Comparison:
    """Look names up in the real ring of the snapshot, which must still be there, and in its simulated twin.

    `host` is where the ring reaches this process for recursive lookups. With `out`, each ring and mode leaves a run
    there, for `analyse`. Raises NotTheSame when there can be no twin.
    """
    told("simulating the ring", 0, 1)
    cluster = twin(snapshot, seed)
    reports = []
    for mode in modes:
        asked = list(_asked(snapshot, lookups, seed))
        real = _real(snapshot, asked, mode, patience_s, _run(out, "live", mode), host, told)
        simulated = _simulated(cluster, snapshot, asked, mode, _run(out, "sim", mode), told)
        reports.append(judged(snapshot, asked, str(mode), real, simulated))
    after = _again(snapshot, patience_s, told)
    return Comparison(
        members=len(snapshot.members),
        processes=len(snapshot.addresses),
        successors=snapshot.successors,
        commit=commit(),
        real_faults=faults(snapshot)[:TOLD_AT_MOST],
        tables=differing(snapshot, taken_of(cluster)),
        changed=differing(snapshot, after),
        modes=reports,
    )


def _again(snapshot: Snapshot, patience_s: float, told: Told) -> Snapshot:
    """Another snapshot of the same ring, by way of any of its processes. Raises what a walk does if none answers."""
    *others, last = snapshot.addresses
    for address in others:
        with suppress(RingcastError):
            return take(address, snapshot.cluster, patience_s, told=told)
    return take(last, snapshot.cluster, patience_s, told=told)


def _asked(snapshot: Snapshot, lookups: int, seed: int) -> Iterator[tuple[str, str]]:
    """Each name, and the node that is asked first: each one in turn."""
    nodes = snapshot.addresses
    for number, name in enumerate(islice(names(seed), lookups)):
        yield name, nodes[number % len(nodes)]


def _run(out: Path | None, source: str, mode: Mode) -> Path | None:
    return None if out is None else out / f"{source}-{mode}"


def _real(
    snapshot: Snapshot,
    asked: Sequence[tuple[str, str]],
    mode: Mode,
    patience_s: float,
    run: Path | None,
    host: str,
    told: Told,
) -> list[Way]:
    began_us = time.time_ns() // 1000
    trace = None if run is None else run / TRACES

    def made(number: int, address: str, life: int) -> RingClient:
        label = f"overlay-{number}" if life == 1 else f"overlay-{number}-{life}"  # two would write the same file
        return RingClient([address], snapshot.cluster, patience_s, trace, label, mode=mode, host=host)

    askers = {
        address: Asker(address, partial(made, number, address)) for number, address in enumerate(snapshot.addresses)
    }
    ways = []
    try:
        for number, (name, address) in enumerate(asked):
            ways.append(askers[address].look_up(name))
            told(f"{mode}, real", number + 1, len(asked))
    finally:
        for asker in askers.values():
            asker.close()
    if run is not None:
        described(snapshot, mode, run, "live", began_us).save(run)
    return ways


@dataclass(slots=True)
class Asker:
    """Looks up through one node, by a client that knows no other, and is replaced once it has turned to another."""

    address: str
    made: Callable[[int], RingClient]
    client: RingClient | None = None
    lives: int = 0
    pause_s: float = SUSPECT_FOR_S

    def look_up(self, name: str) -> Way:
        """Asked again while somebody did not answer in time; `asked` tells how often."""
        for asked in range(1, TRIES + 1):
            if asked > 1:
                time.sleep(self.pause_s)  # as long as members pass over whoever was slow
            if self.client is None:
                self.lives += 1
                self.client = self.made(self.lives)
            way = _tried(partial(self.client.lookup, name))
            way.asked = asked
            if not way.error and not way.timeouts and way.path[0].address == self.address:
                break
            self.close()
        return way

    def close(self) -> None:
        """Its next lookup is by another client, which has learned nothing."""
        if self.client is not None:
            self.client.close()
            self.client = None


def _tried(look_up: Callable[[], Walk]) -> Way:
    """What came of a lookup, an error included."""
    try:
        walk = look_up()
    except RingcastError as error:
        return Way(path=[], owner=None, error=str(error))
    assert walk.owner is not None
    return Way(path=[place_of(pointer) for pointer in walk.path], owner=place_of(walk.owner), timeouts=walk.timeouts)


def _simulated(
    cluster: Cluster, snapshot: Snapshot, asked: Sequence[tuple[str, str]], mode: Mode, run: Path | None, told: Told
) -> list[Way]:
    client = cluster.client(f"overlay-{mode}")
    before = len(cluster.rows)
    ways = []
    for number, (name, address) in enumerate(asked):
        ways.append(_tried(partial(client.locate, name, address, mode is Mode.RECURSIVE)))
        told(f"{mode}, simulated", number + 1, len(asked))
    if run is not None:
        traces = Traces(run)
        for row in cluster.rows[before:]:
            traces.append(row)
        info = described(snapshot, mode, run, "sim", 0)
        traces.close({})
        info.seed = cluster.seed
        info.save(run)
    return ways


def described(snapshot: Snapshot, mode: Mode, run: Path, source: str, began_us: int) -> RunInfo:
    """What run.json says of the lookups in one of the rings."""
    processes = len(snapshot.addresses)
    return RunInfo(
        run=f"{run.resolve().parent.name}-{run.name}",
        source="live" if source == "live" else "sim",
        cluster=snapshot.cluster,
        ring_size=len(snapshot.members),
        successors=snapshot.successors,
        bits=snapshot.bits,
        commit=commit(),
        started_us=began_us,
        vnodes=len(snapshot.members) // processes,
        mode=str(mode),
    )
