"""A session as text for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.mininet import published
from experiments.mininet.census import Census
from experiments.mininet.results import Latency, Result
from experiments.mininet.session import Session

PERCENTILES = ("p50", "p95", "p99")


def as_text(session: Session) -> str:
    """The figures of each cell, and what was counted before and after."""
    return "\n".join(_lines(session))


def _lines(session: Session) -> Iterator[str]:
    yield f"Mininet: {session.hosts} hosts, {session.topology}"
    for cell in session.cells:
        yield from _cell(cell)
    if any(cell.dissemination for cell in session.cells):
        yield ""
        yield from _latencies(session)
    yield ""
    yield "                 processes  namespaces  bridges  ends of links"
    yield _row("machine before", session.before)
    most = max(session.own, key=lambda census: census.processes)
    yield _row("the run itself", most)
    yield _row("machine after", session.after)
    yield _row("of it left", session.left)
    if session.picture:
        yield session.picture
    yield f"{session.out}: python -m experiments analyse {session.out}"


def _row(name: str, census: Census) -> str:
    return f"{name:15} {census.processes:10} {census.namespaces:11} {census.bridges:8} {census.veth_ends:14}"


def _cell(cell: Result) -> Iterator[str]:
    faults = f"; {', '.join(cell.faults)}" if cell.faults else ""
    if cell.ring_formed_s is not None:
        yield f"{cell.cell}: a ring of {cell.ring_size} formed in {cell.ring_formed_s:.1f} s{faults}"
    if cell.lookups is not None:
        looked = cell.lookups
        yield f"  {looked.ok:,} of {looked.asked:,} lookups ok, {looked.timeouts} time-outs"
        yield f"  hops: mean {looked.hops_mean:.2f}; half log2 N is {looked.half_log2:.2f}"
        yield "  " + ", ".join(f"{hops}: {many}" for hops, many in looked.hops.items())
        yield f"  latency: {_spread(looked.latency)}"
    if cell.dissemination is not None:
        yield f"  {cell.delivered:,} of {cell.expected:,} samples delivered"


def _spread(latency: Latency) -> str:
    numbers = {"p50": latency.p50_us, "p95": latency.p95_us, "p99": latency.p99_us, "most": latency.max_us}
    return ", ".join(f"{name} {number / 1000:.2f} ms" for name, number in numbers.items())


def _latencies(session: Session) -> Iterator[str]:
    """A row for each cell; the columns of what was on the wire only if something was captured."""
    captured = any(cell.wire is not None for cell in session.cells)
    wire = f" {'on the wire, ms':^23}" if captured else ""
    yield f"{'':21}{'application, ms':^23}{wire}".rstrip()
    yield f"{'':21}" + " ".join(f"{name:>7}" for name in PERCENTILES * (1 + captured)) + "  matched" * captured
    for cell in session.cells:
        if cell.app is None:
            continue
        matched = f"{cell.wire.count:,}" if cell.wire is not None else ""
        yield f"{cell.cell:20} {_three(cell.app)} {_three(cell.wire)}  {matched:>7}".rstrip()
    yield ""
    yield "for comparison, what others published of theirs, on other machines:"
    yield from published.lines()


def _three(latency: Latency | None) -> str:
    if latency is None:
        return " " * 23
    return " ".join(f"{number / 1000:7.2f}" for number in (latency.p50_us, latency.p95_us, latency.p99_us))
