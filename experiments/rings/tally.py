"""The totals of many rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from chord.amounts import counted
from experiments.ranks import quantile
from experiments.rings.outcome import REPLICAS, Options, Outcome
from experiments.rings.plan import Kind

KINDS: tuple[Kind, ...] = ("join", "kill", "stop", "leave")


class Tally:
    """Takes each outcome in as it comes."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    @property
    def bad(self) -> list[Outcome]:
        """The rounds that ended as none may."""
        return [outcome for outcome in self.outcomes if outcome.bad]

    def totals(self, options: Options, elapsed_s: float) -> dict[str, Any]:
        """Everything counted; times in seconds from the last event of a round."""
        outcomes = self.outcomes
        agreed = [outcome.agreed_s for outcome in outcomes if outcome.agreed_s is not None]
        copied = [outcome.copied_s for outcome in outcomes if outcome.copied_s is not None]
        return {
            "seed": options.seed,
            "first": options.first,
            "successors": options.successors,
            "rounds": len(outcomes),
            "broken": sum(bool(outcome.broken) for outcome in outcomes),
            "discarded": options.rounds - len(outcomes),
            "events": {kind: sum(outcome.plan.count(kind) for outcome in outcomes) for kind in KINDS},
            "nodes_min": min((outcome.plan.nodes for outcome in outcomes), default=0),
            "nodes_max": max((outcome.plan.nodes for outcome in outcomes), default=0),
            "agreed_s_p50": _quantile(agreed, 0.5),
            "agreed_s_p99": _quantile(agreed, 0.99),
            "agreed_s_max": max(agreed, default=None),
            "copied_s_p50": _quantile(copied, 0.5),
            "copied_s_max": max(copied, default=None),
            "not_copied": sum(not outcome.broken and outcome.copied_s is None for outcome in outcomes),
            "writes": sum(outcome.puts for outcome in outcomes),
            "acknowledged": sum(outcome.acknowledged for outcome in outcomes),
            "read": sum(outcome.read for outcome in outcomes),
            "read_late": sum(outcome.late for outcome in outcomes),
            "wrong": _by_verdict(what for outcome in outcomes for what in outcome.faults.values()),
            "rounds_with_all_holders_at_risk": sum(outcome.plan.count("kill") >= REPLICAS for outcome in outcomes),
            "wrong_with_all_holders_at_risk": _by_verdict(
                what for outcome in outcomes for what in outcome.excused.values()
            ),
            "elapsed_s": round(elapsed_s, 1),
            "bad": [outcome.plan.number for outcome in self.bad],
        }


def as_text(totals: dict[str, Any]) -> str:
    """The totals in a few lines of 80 columns."""
    events = ", ".join(counted(count, kind) for kind, count in totals["events"].items())
    return "\n".join(
        [
            f"{counted(totals['rounds'], 'round')} of seed {totals['seed']} in {totals['elapsed_s']} s: "
            f"lists of {totals['successors']}, {totals['nodes_min']} to {totals['nodes_max']} nodes",
            f"{totals['broken']} broken, {totals['discarded']} discarded: {events}",
            f"agreed after the last event: median {totals['agreed_s_p50']} s, "
            f"p99 {totals['agreed_s_p99']} s, longest {totals['agreed_s_max']} s",
            f"{totals['acknowledged']} of {totals['writes']} writes acknowledged; of {totals['read']} records read "
            f"{_row(totals['wrong'])}, {totals['read_late']} late",
            f"{counted(totals['rounds_with_all_holders_at_risk'], 'round')} killed as many nodes as hold a record, "
            "or more;",
            f"  where all of them may have failed: {_row(totals['wrong_with_all_holders_at_risk'])}",
        ]
    )


def _row(verdicts: dict[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) or "none wrong"


def _by_verdict(wrong: Iterable[str]) -> dict[str, int]:
    """How many records were lost, stale, revived, unseen or unread."""
    return dict(Counter(what.partition(":")[0] for what in wrong))


def _quantile(values: Sequence[float], share: float) -> float | None:
    return quantile(sorted(values), share) if values else None
