"""`python -m experiments split`: a ring cut in two by a real network, and what came of it."""

from __future__ import annotations

import sys

import msgspec

from experiments.rings.split import Report
from experiments.rings.split import split as play


def split(nodes: int, cut_s: float, as_json: bool) -> bool:
    """Play it and print the figures; whether it became one ring, with every record."""
    report = play(nodes, cut_s, lambda what: print(what, file=sys.stderr, flush=True))
    print(msgspec.json.format(msgspec.json.encode(report)).decode() if as_json else as_text(report))
    return report.good


def as_text(report: Report) -> str:
    """The figures in a few lines."""
    lines = [
        f"{report.left} + {report.right} nodes, cut for {report.cut_s} s: two rings {report.two_rings_s} s after the "
        f"cut, one ring {report.one_ring_s} s after the mending, every record read {report.found_s} s after it",
        f"{sum(report.acknowledged.values())} of {sum(report.writes.values())} writes acknowledged; "
        f"{report.records} records, {report.changed_by_both} changed by both halves, {report.deleted} deleted: "
        f"{report.lost} lost, {len(report.wrong)} wrong",
        *(f"{name}: {what}" for name, what in report.wrong.items()),
    ]
    return "\n".join(lines)
