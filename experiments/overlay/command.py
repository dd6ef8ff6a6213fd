"""What the commands of `overlay` do, from their options to what they print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console

from broker.local_ring import LocalRing
from chord.amounts import counted
from chord.client import Mode
from chord.errors import LocalProtocolError
from experiments.overlay.asked import take
from experiments.overlay.ideal import faults
from experiments.overlay.snapshot import BadSnapshot, Snapshot, load, save_to
from experiments.report.terminal import progress_bar
from sim.latency import Model

if TYPE_CHECKING:
    from experiments.overlay.underlay import Delays

RING_FILE = "ring.json"


@dataclass(frozen=True)
class Asked:
    """What is looked up in both rings."""

    lookups: int
    modes: list[Mode]
    seed: int
    patience_s: float
    wait_s: float
    out: Path | None
    host: str


@dataclass(frozen=True)
class Started:
    """A ring of processes to start."""

    nodes: int
    successors: int
    vnodes: int


def take_real(out: Path, address: str, cluster: str, patience_s: float, wait_s: float, as_json: bool) -> bool:
    """Take and save a snapshot of a real ring; False when it was waited for in vain."""
    save_to(out)
    with progress_bar() as progress:
        snapshot = take(address, cluster, patience_s, wait_s, progress)
    wrong = faults(snapshot)
    _saved(snapshot, wrong, out, as_json)
    return not (wait_s and wrong)


def take_simulated(
    out: Path, nodes: int, seed: int, successors: int, vnodes: int, latency: Model, as_json: bool
) -> None:
    """Make an ideal ring and save its snapshot."""
    from experiments.overlay.simulated import take_ideal

    save_to(out)
    snapshot = take_ideal(nodes, seed, successors, vnodes, latency)
    _saved(snapshot, faults(snapshot), out, as_json)


def _saved(snapshot: Snapshot, wrong: list[str], out: Path, as_json: bool) -> None:
    snapshot.save(out)
    if as_json:
        _print_json({"file": str(out), "source": snapshot.source, "members": len(snapshot.members), "faults": wrong})
        return
    members = counted(len(snapshot.members), "member")
    state = "every list and finger is right" if not wrong else f"{counted(len(wrong), 'fault')} (yet): {wrong[0]}"
    print(f"{out}: {members}; {state}")
    for identifier, address in snapshot.unanswered.items():
        print(f"did not answer: {identifier} at {address}")


def metrics(path: Path, graphml: Path | None, plot: Path | None, seed: int, as_json: bool) -> None:
    """Measure a snapshot, and write what was asked for."""
    from experiments.overlay.measures import measure

    for each in filter(None, (graphml, plot)):
        save_to(each)
    snapshot = load(path)
    with progress_bar() as progress:
        measured = measure(snapshot, seed, progress)
    if graphml is not None:
        from experiments.overlay.graph import graph_of, write_graphml

        write_graphml(graph_of(snapshot, _delays(snapshot, None)), graphml)
    if plot is not None:
        from experiments.overlay.picture import draw

        draw(snapshot, measured, plot)
    if as_json:
        _print_json(measured)
        return
    from experiments.overlay.render import metrics_tables

    metrics_tables(measured, Console(highlight=False))


def stretch(sources: Sequence[Path], latency: Model | None, lookups: int, seed: int, as_json: bool) -> None:
    """Reckon it on a snapshot, or measure it in runs."""
    from experiments.overlay.render import stretch_table

    for source in sources:
        if not source.exists() and source.suffix != ".json":
            raise LocalProtocolError(f"{source} is missing; give the directory of a run, or the file of a snapshot")
    if all(source.is_dir() for source in sources):
        from experiments.overlay.lookups_of import read
        from experiments.overlay.measured_stretch import of_runs

        if latency is not None:
            raise LocalProtocolError("the latencies of runs are in their traces; --latency is for a snapshot")
        rows = of_runs(read(sources))
    elif len(sources) == 1:
        from experiments.overlay.stretch import on_underlay

        snapshot = load(sources[0])
        delays = _delays(snapshot, latency)
        if delays is None:
            raise LocalProtocolError(
                f"{sources[0]} is of a real ring, whose underlay is not known; choose one with --latency, or give the "
                "directories of runs on it"
            )
        rows = on_underlay(snapshot, delays, lookups, seed)
    else:
        raise LocalProtocolError("give one snapshot, or directories of runs, not both")
    if as_json:
        _print_json(rows)
    else:
        stretch_table(rows, Console(highlight=False))


def _delays(snapshot: Snapshot, latency: Model | None) -> Delays | None:
    from experiments.overlay.underlay import Delays

    model = latency or snapshot.latency
    return None if model is None else Delays(model, snapshot.seed if snapshot.seed is not None else 1)


def compare(address: str | None, cluster: str, started: Started, asked: Asked, as_json: bool) -> bool:
    """Compare a ring that runs, or one that is started, with its simulated twin; whether all is the same."""
    from experiments.overlay.render import comparison_text
    from experiments.overlay.same_ring import compare as work

    if asked.out is not None and asked.out.exists() and any(asked.out.iterdir()):
        raise BadSnapshot(f"{asked.out} is not empty; name another directory for --out")
    with progress_bar() as progress, _ring(address, cluster, started) as via:
        snapshot = take(via, cluster, asked.patience_s, asked.wait_s, progress)
        if asked.out is not None:
            snapshot.save(asked.out / RING_FILE)
        found = work(
            snapshot, asked.lookups, asked.modes, asked.seed, asked.patience_s, asked.out, asked.host, progress
        )
    if as_json:
        _print_json({"same": found.same, **msgspec.to_builtins(found, str_keys=True)})
    else:
        comparison_text(found, Console(highlight=False))
    return found.same and not found.real_faults


@contextmanager
def _ring(address: str | None, cluster: str, started: Started) -> Iterator[str]:
    """The address of a node of the ring that runs, or of one that ends afterwards."""
    if address is not None:
        yield address
        return
    with LocalRing() as ring:
        ring.options += ["--vnodes", str(started.vnodes), "--successors", str(started.successors)]
        ring.options += ["--cluster", cluster]
        ring.grow(started.nodes)
        yield ring.addresses()[0]


def fit(runs: Sequence[Path], predict: Sequence[Path], within: float, as_json: bool) -> bool:
    """Fit models, predict runs; whether each prediction is near enough."""
    from experiments.overlay import predicting
    from experiments.overlay.lookups_of import read
    from experiments.overlay.render import left_out_text, predictions_table

    everything, wanted = read(runs), read(predict) if predict else []
    given, predicted = predicting.workloads(everything), predicting.workloads(wanted) if predict else []
    too_few = list(dict.fromkeys(run.name for run in (*everything, *wanted) if not run.is_workload))
    kept = predicting.without(given, predicted) if predict else given
    left_out = [run.name for run in given if all(run is not each for each in kept)]
    models = predicting.fitted(kept)
    if predict:
        predictions = [predicting.predict(models, run) for run in predicted]
    else:
        predictions = predicting.leaving_out(given)
    if as_json:
        _print_json(
            {
                "models": models,
                "left_out": left_out,
                "too_few_lookups": too_few,
                "predictions": predictions,
                "within": within,
            }
        )
    else:
        console = Console(highlight=False)
        left_out_text(left_out, too_few, console)
        predictions_table(models, predictions, within, console)
    return all(abs(one.error) <= within for one in predictions)


def _print_json(value: Any) -> None:
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
