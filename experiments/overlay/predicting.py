"""Predicts the median latency of real runs: hops from the simulator, what they take from a model of other runs.

Of a run only its members, names and nodes first asked are used, and no time nor hop of it: ways are reckoned on the
ideal ring of these members. Where the traces do not show every member, the hops are those of the traces, and that is
told.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from chord.settings import Settings
from experiments.overlay.ideal import ideal_ring
from experiments.overlay.lookups_of import LEAST, Lookups, addresses
from experiments.overlay.model import Model, NoModel, counted, fit, grouped
from experiments.overlay.routing import Router, entered_at


class Prediction(msgspec.Struct, kw_only=True):
    """Of one run and mode: what was measured and what was predicted, in microseconds.

    `error`: prediction over measurement, less 1. `hops_from`: ring, or traces. `same_hops`: how many of the lookups
    took as many hops as was reckoned; None when the hops are those of the traces. `model_of`: the mode that the model
    was fitted on.
    """

    run: str
    source: str
    mode: str
    members: int
    lookups: int
    left_out: int
    measured_us: float
    predicted_us: float
    error: float
    hops_from: str
    same_hops: int | None
    model_of: str


class Fitted(msgspec.Struct, kw_only=True):
    """A model, and the source of the runs that it was fitted on."""

    source: str
    runs: list[str]
    model: Model


def workloads(runs: Sequence[Lookups]) -> list[Lookups]:
    """The runs whose work was to look names up. Raises NoModel when none is."""
    kept = [run for run in runs if run.is_workload]
    if not kept:
        raise NoModel(f"{runs[0].name}: no workload of {LEAST} lookups or more; make one with `sweep --lookups 500`")
    return kept


def members_of(lookups: Lookups) -> int:
    """How many members the ring has: as run.json tells, else as many as answered."""
    return lookups.info.ring_size or len(addresses(lookups))


def fitted(runs: Sequence[Lookups]) -> list[Fitted]:
    """A model for each source and mode among these. Raises NoModel when one has too few different lookups."""
    models = []
    for source, mode in sorted({(run.info.source, run.mode) for run in runs}):
        own = [run for run in runs if (run.info.source, run.mode) == (source, mode)]
        groups = [
            group
            for run in own
            for group in grouped(members_of(run), [row.hops for row in run.rows], [row.duration_us for row in run.rows])
        ]
        models.append(Fitted(source=source, runs=[run.name for run in own], model=fit(mode, groups)))
    return models


def without(runs: Sequence[Lookups], predicted: Sequence[Lookups]) -> list[Lookups]:
    """The runs to fit on: those that are not to be predicted. Raises NoModel when none is left."""
    traces = {run.traces for run in predicted}
    kept = [run for run in runs if run.traces not in traces]
    if not kept:
        raise NoModel("every run to fit on is to be predicted; give others to fit on, or leave --predict out")
    return kept


def predict(models: Sequence[Fitted], run: Lookups) -> Prediction:
    """Predict one run. Raises NoModel when none was fitted on runs of its source."""
    own = [each.model for each in models if each.source == run.info.source]
    if not own:
        raise NoModel(f"{run.name} is {run.info.source}, and no model was fitted on such runs; give one among RUNS")
    model = next((each for each in own if each.mode == run.mode), own[0])
    reckoned = reckoned_hops(run)
    hops = reckoned or [row.hops for row in run.rows]
    measured = median(row.duration_us for row in run.rows)
    predicted = model.for_mode(run.mode).p50_us(counted(hops), members_of(run))
    same = None
    if reckoned is not None:
        same = sum(ours == row.hops for ours, row in zip(reckoned, run.rows, strict=True))
    return Prediction(
        run=run.name,
        source=run.info.source,
        mode=run.mode,
        members=members_of(run),
        lookups=len(run.rows),
        left_out=run.left_out,
        measured_us=measured,
        predicted_us=round(predicted, 1),
        error=predicted / max(measured, 1) - 1,
        hops_from="traces" if reckoned is None else "ring",
        same_hops=same,
        model_of=model.mode,
    )


def leaving_out(runs: Sequence[Lookups]) -> list[Prediction]:
    """Each run predicted from all others, in whatever mode. Raises NoModel when there is none."""
    if len({run.traces for run in runs}) < 2:
        raise NoModel(f"{runs[0].name} is the only run; give another one, or one to --predict")
    return [predict(fitted(without(runs, [run])), run) for run in runs]


def reckoned_hops(run: Lookups) -> list[int] | None:
    """The hops of each lookup on the ideal ring of the run's members; None where not all of them are known.

    Nor with virtual nodes: how long their lists are is more than run.json tells.
    """
    info, found = run.info, addresses(run)
    if (info.vnodes or 1) > 1 or info.ring_size != len(found) or info.successors is None or info.cluster == "unknown":
        return None
    ring = ideal_ring(info.cluster, found, 1, max(info.successors, Settings().others))
    router = Router(ring)
    hops = []
    for row in run.rows:
        if not row.hop_list:
            return None
        start = entered_at(ring, router, row.hop_list[0].address, row.key)
        hops.append(len(router.path(start, row.key)) - 1)
    return hops
