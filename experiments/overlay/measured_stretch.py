"""The stretch of lookups in real rings, from the round trips in their traces.

The direct way is the median of all round trips that the traces have from the same asker to the owner, the last step of
iterative lookups among them: an asker that only looked up recursively knows of none, and is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from experiments.overlay.lookups_of import Lookups, addresses
from experiments.overlay.stretch import Stretch, summed_up
from experiments.traces.run import BadRun


def of_runs(runs: Sequence[Lookups]) -> list[Stretch]:
    """One row for each source and mode. Raises BadRun where no round trip to any owner is known.

    A lookup ends when the owner has answered. Those of keys that the node first asked owns itself are left out, as that
    node is where the asker's way into the ring is.
    """
    found: list[Stretch] = []
    for source in sorted({run.info.source for run in runs}):
        own = [run for run in runs if run.info.source == source]
        direct = _round_trips(own)
        for mode in sorted({run.mode for run in own}):
            pairs = []
            for run in own:
                ring = _ring(run)
                for row in run.rows if run.mode == mode else ():
                    known = direct.get((ring, row.origin, row.owner_address))
                    if known and row.hop_list[0].address != row.owner_address:
                        pairs.append(((row.duration_us + row.owner_us) / 1e6, known / 1e6))
            if pairs:
                found.append(summed_up(f"{source}, {mode}", pairs))
    if not found:
        raise BadRun("no round trip to any owner is in these traces; give runs with iterative lookups of the same ring")
    return found


def _ring(run: Lookups) -> tuple[str, ...]:
    """What tells rings apart: their members, and the name of their cluster."""
    return run.info.cluster, *addresses(run)


def _round_trips(runs: Sequence[Lookups]) -> dict[tuple[tuple[str, ...], str, str], float]:
    """Microseconds by ring, asker and address."""
    taken: dict[tuple[tuple[str, ...], str, str], list[int]] = defaultdict(list)
    for run in runs:
        ring = _ring(run)
        for row in run.rows if run.mode == "iterative" else ():
            for hop in row.hop_list:
                taken[ring, row.origin, hop.address].append(hop.rtt_us)
    return {pair: median(each) for pair, each in taken.items()}
