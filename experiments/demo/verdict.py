"""Whether the demo held what it promises: samples after the kill, and right owners after it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from experiments.analysis.summary import BROKEN, KEPT, Summary, Verdict
from experiments.rings.load import Answer, wrong_owners

SAMPLES_AFTER_KILL = 1_000
FAILOVER_MS = 10_000.0


def judge(answers: list[Answer], before: list[int], after: list[int], killed_at: float, summary: Summary) -> Verdict:
    """Check every lookup against the members' identifiers alone, and every subscriber's samples after the kill."""
    late = sum(answer.started_at >= killed_at for answer in answers)
    wrong = wrong_owners(answers, before, after, killed_at)
    wrong_after = sum(answer.started_at >= killed_at for answer in wrong)
    wrong_before = len(wrong) - wrong_after
    failures = []
    if not late:
        failures.append("no lookup was made after the kill")
    if wrong_after:
        failures.append(f"{wrong_after} of {late} lookups after the kill failed or named the wrong owner")
    if wrong_before:
        failures.append(f"{wrong_before} lookups before the kill failed or named the wrong owner")
    for each in summary.disseminations:
        if each.mode == "brokered" and (each.failover_ms is None or each.failover_ms > FAILOVER_MS):
            failures.append(f"brokered subscribers waited {each.failover_ms} ms for the zone's next primary")
    if not any(each.mode == "brokered" for each in summary.disseminations):
        failures.append("nothing was delivered through brokers")
    for subscriber in summary.subscribers:
        got = subscriber.delivered_after_kill or 0
        if got < SAMPLES_AFTER_KILL:
            failures.append(f"subscriber {subscriber.name} got {got} samples after the kill")
        if subscriber.lost or subscriber.duplicated:
            failures.append(
                f"subscriber {subscriber.name} lost {subscriber.lost} samples and got {subscriber.duplicated} twice"
            )
    return Verdict(
        outcome=BROKEN if failures else KEPT,
        lookups_checked=len(answers),
        lookups_after_kill=late,
        wrong_after_kill=wrong_after,
        wrong_before_kill=wrong_before,
        failures=failures,
    )


def read_answers(path: Path) -> list[Answer]:
    """The answers that the asking process left."""
    return msgspec.msgpack.decode(path.read_bytes(), type=list[Answer])
