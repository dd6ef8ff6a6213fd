"""What a session is counted to, and how it is told."""

from __future__ import annotations

from msgspec.structs import replace

from chord.spool import Spool
from experiments.capture.matching import WireRow
from experiments.mininet.census import Census
from experiments.mininet.results import Latency, Result, count, latency
from experiments.mininet.session import Session
from experiments.mininet.told import as_text
from experiments.traces.examples import DELIVERY, LOOKUP, RUN
from experiments.traces.run import TRACES

WIRE = WireRow(
    run="r",
    dissemination="direct",
    topic="t",
    publisher="p",
    subscriber="s",
    sequence=1,
    published_us=10,
    app_us=5,
    wire_us=3,
)


def test_percentiles_are_by_nearest_rank():
    """Each is a value that was seen."""
    assert latency(range(1, 101)) == Latency(100, 50, 95, 99, 100)
    assert latency([7]) == Latency(1, 7, 7, 7, 7)
    assert latency([]) is None


def test_a_cell_is_counted_from_its_traces(tmp_path):
    """The lookups of the client, not those that publishers do for themselves; failed ones apart; and deliveries."""
    spool = Spool(tmp_path / TRACES, "mininet")
    for hops, outcome in [(1, "ok"), (2, "ok"), (2, "ok"), (9, "LookupFailed")]:
        spool.append(replace(LOOKUP, origin="mininet", hops=hops, outcome=outcome, timeouts=1, duration_us=hops * 100))
    spool.append(replace(LOOKUP, origin="publisher-1", hops=7))
    spool.append(replace(DELIVERY, published_us=10, received_us=40))
    spool.close()

    result = count(tmp_path, replace(RUN, ring_size=16), [WIRE, replace(WIRE, wire_us=None)], expected=2)

    assert result.lookups is not None
    assert (result.lookups.asked, result.lookups.ok, result.lookups.timeouts) == (4, 3, 4)
    assert result.lookups.hops == {1: 1, 2: 2}
    assert (round(result.lookups.hops_mean, 2), result.lookups.half_log2) == (1.67, 2.0)
    assert result.lookups.latency == Latency(3, 200, 200, 200, 200)
    assert (result.delivered, result.expected, result.app) == (1, 2, Latency(1, 30, 30, 30, 30))
    assert (result.wire, result.unmatched) == (Latency(1, 3, 3, 3, 3), 1)


def session_with(wire: Latency | None) -> Session:
    """Of two cells."""
    app = Latency(100, 1_000, 2_000, 3_000, 4_000)
    cells = [
        Result(cell=f"{kind}-004-004", run="r", dissemination=kind, publishers=4, subscribers=4, app=app, wire=wire)
        for kind in ("direct", "brokered")
    ]
    return Session(
        out="runs/mininet-1",
        topology="tree,depth=2,fanout=4",
        hosts=16,
        cells=cells,
        before=Census(0, 1, 0, 0),
        own=[Census(60, 17, 5, 40)],
        after=Census(0, 1, 0, 0),
        left=Census(0, 0, 0, 0),
    )


def test_a_session_fits_a_terminal():
    """Every line within 80 columns; both latencies of each cell; what was counted before, meanwhile and after."""
    lines = as_text(session_with(Latency(100, 1_000, 2_000, 3_000, 4_000))).splitlines()

    assert max(map(len, lines)) <= 80
    assert "brokered-004-004        1.00    2.00    3.00    1.00    2.00    3.00      100" in lines
    assert "brokered, 64 hosts   1790.00 2540.00" in lines
    assert "the run itself          60          17        5             40" in lines


def test_without_a_capture_there_are_no_columns_of_the_wire():
    """Nor a heading above nothing."""
    lines = as_text(session_with(None)).splitlines()

    assert not any("wire" in line or "matched" in line for line in lines)
    heading = lines.index(f"{'':21}    p50     p95     p99")
    assert lines[heading + 1] == "direct-004-004          1.00    2.00    3.00"


def test_the_figures_of_others_stand_apart_from_ours():
    """An empty line and a heading come between."""
    lines = as_text(session_with(None)).splitlines()

    last = lines.index("brokered-004-004        1.00    2.00    3.00")
    assert lines[last + 1] == ""
    assert lines[last + 2].startswith("for comparison, what others published")
    assert lines[last + 3] == "from the files of austinjhunt, assignments 1 and 3"
