"""`python -m experiments split`: a ring cut in two by a real network, and what came of it."""

from __future__ import annotations

import sys

import msgspec

from experiments.rings.split import Report
from experiments.rings.split import split as play


def split(nodes: int, cut_s: float, as_json: bool) -> bool:
    """Play it and print the figures; whether it became two rings, and one again, with every record."""
    report = play(nodes, cut_s, _say)
    print(msgspec.json.format(msgspec.json.encode(report)).decode() if as_json else as_text(report))
    if report.two_rings_s is None:
        _say(f"error: no split was seen: the halves were not yet two rings after {cut_s:g} s; make --cut longer")
    return report.good


def as_text(report: Report) -> str:
    """The figures in a few lines."""
    lines = [
        f"{report.left} + {report.right} nodes, cut for {report.cut_s:g} s; "
        f"two rings: {_time(report.two_rings_s)} from the cut; one ring: {_time(report.one_ring_s)} from the mending; "
        f"every record read: {_time(report.found_s)} from the mending",
        f"{sum(report.acknowledged.values())} of {sum(report.writes.values())} writes acknowledged; "
        f"{report.records} records, {report.changed_by_both} changed by both halves, {report.deleted} deleted: "
        f"{report.lost} lost, {len(report.wrong)} wrong",
        *(f"{name}: {what}" for name, what in report.wrong.items()),
    ]
    return "\n".join(lines)


def _time(time_s: float | None) -> str:
    return "never" if time_s is None else f"{time_s} s"


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
