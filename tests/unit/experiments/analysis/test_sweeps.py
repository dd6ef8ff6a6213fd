"""Runs side by side: which rows there are, and how they are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from msgspec.structs import replace
from rich.console import Console

from experiments.analysis.summary import SOURCE_NAMES, Deliveries, Dissemination, Hops, Latency, Lookups, Summary
from experiments.analysis.sweeps import client_counts, ring_sizes
from experiments.report import figures, files, plots
from experiments.report.terminal import show
from experiments.traces import examples
from experiments.traces.run import RunInfo

LATENCY = Latency(mean=1234.5, p50=1_200, p99=98_765, max=1_234_567)


def a_run(name: str, ring_size: int, clients: int | None = None) -> RunInfo:
    return replace(examples.RUN, run=name, ring_size=ring_size, clients=clients, source="live")


def lookups(run: str, ring_size: int, mode: str = "iterative", failed: int = 0) -> Lookups:
    return Lookups(
        run=run,
        source="live",
        ring_size=ring_size,
        successors=8,
        mode=mode,
        count=2_000 + failed,
        ok=2_000,
        failed=failed,
        timeouts=0,
        outcomes={"ok": 2_000},
        hops=Hops(mean=1.37, p50=1, p99=3, max=4),
        half_log2=2.0,
        expected_hops=1.5,
        latency_us=LATENCY,
        owner_us_p50=100,
    )


def deliveries(run: str, mode: str, topic: str | None = None) -> Deliveries:
    return Deliveries(run=run, mode=mode, topic=topic, count=1_600, latency_us=LATENCY)


def losses(run: str, mode: str, lost: int) -> Dissemination:
    return Dissemination(
        run=run,
        mode=mode,
        subscribers=16,
        published=1_600,
        distinct=1_600 - lost,
        lost=lost,
        duplicated=0,
        failover_ms=None,
    )


def test_lookups_come_by_size_and_mode() -> None:
    """Whatever the order of their runs."""
    runs = [a_run("b", 16), a_run("a", 4)]

    rows = ring_sizes(runs, [lookups("b", 16), lookups("b", 16, "cached"), lookups("a", 4)])

    assert [(row.ring_size, row.mode, row.run) for row in rows] == [
        (4, "iterative", "a"),
        (16, "cached", "b"),
        (16, "iterative", "b"),
    ]


def test_one_size_is_nothing_to_compare() -> None:
    """Nor are lookups of which nobody knows the ring's size."""
    assert ring_sizes([a_run("a", 4), a_run("b", 4)], [lookups("a", 4), lookups("b", 4)]) == []
    assert ring_sizes([a_run("a", 4)], [lookups("a", 4), replace(lookups("b", 4), ring_size=None)]) == []


def test_lookups_of_clients_that_start_are_no_row() -> None:
    """A run about a number of clients says nothing about its ring's size."""
    runs = [a_run("a", 4), a_run("b", 16), a_run("c", 8, clients=2)]

    rows = ring_sizes(runs, [lookups("a", 4), lookups("c", 8), lookups("b", 16)])

    assert [row.ring_size for row in rows] == [4, 16]


def test_deliveries_come_by_clients_and_mode() -> None:
    """All topics together, with what was lost; other runs are left out."""
    runs = [a_run("d", 8, clients=32), a_run("b", 8, clients=8), a_run("other", 8)]
    found = [deliveries("d", "direct"), deliveries("d", "direct", "t"), deliveries("b", "brokered")]

    rows = client_counts(runs, [*found, deliveries("other", "direct")], [losses("d", "direct", 3)])

    assert [(row.clients, row.mode, row.lost) for row in rows] == [(8, "brokered", None), (32, "direct", 3)]


def swept() -> Summary:
    """The summary of a sweep of two sizes and two numbers of clients, in both disseminations."""
    rings = [a_run(f"sweep-ring-{size:03}", size) for size in (4, 32)]
    cells = [(mode, clients) for clients in (2, 512) for mode in ("direct", "brokered")]
    runs = rings + [a_run(f"sweep-{mode}-{clients:03}", 8, clients) for mode, clients in cells]
    summary = Summary(
        runs=[
            {"run": run.run, "source": "live", "ring_size": 8, "commit": "c", "clients": run.clients} for run in runs
        ],
        rows={"lookup": 4_000},
        damage={},
        subscribers=[],
        deliveries=[deliveries(f"sweep-{mode}-{clients:03}", mode) for mode, clients in cells],
        lookups=[lookups(run.run, run.ring_size or 0, failed=7) for run in rings],
        hops=[],
        events=[],
        timeline=[],
        latency=[],
        disseminations=[losses(f"sweep-{mode}-{clients:03}", mode, 1) for mode, clients in cells],
    )
    summary.ring_sizes = ring_sizes(runs, summary.lookups)
    summary.clients = client_counts(runs, summary.deliveries, summary.disseminations)
    return summary


def test_the_tables_of_a_sweep_fit_a_terminal() -> None:
    """80 columns with nothing cut off; what they show is not shown again run by run."""
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        show(swept(), console)
    shown = captured.get()

    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    titles = [line.strip() for line in shown.splitlines() if " by " in line or line.startswith("Lookup latency")]
    assert titles == [
        "Lookups by ring size (hops; us until the owner is named)",
        "Deliveries by number of clients (latency in us)",
    ]
    fields = [line.split() for line in shown.splitlines()]
    assert ["iterative", "32", "2,007", "7", "1.37", "1", "3", "2.00", "1.50", "1,200", "98,765"] in fields
    assert ["brokered", "512", "1,600", "1", "1,234", "1,200", "98,765", "1,234,567"] in fields


@pytest.mark.parametrize("other", ["sim", "mininet"])
def test_measured_and_simulated_rows_are_told_apart(other: str) -> None:
    """Of equal numbers of nodes and clients; in tables that still fit, and in lines of their own."""
    summary = swept()
    summary.ring_sizes += [replace(row, source=other) for row in summary.ring_sizes]
    summary.clients += [replace(row, source=other) for row in summary.clients]
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        show(summary, console)
    shown = captured.get()

    assert max(map(len, shown.splitlines())) <= 80 and "…" not in shown
    fields = [line.split()[:5] for line in shown.splitlines()]
    for source in ("live", other):
        assert [source, "iterative", "32", "2,007", "7"] in fields
        assert [source, "brokered", "512", "1,600", "1"] in fields
    axis = Figure().subplots()
    plots.hops_by_ring_size(axis, summary.ring_sizes)
    names = {line.get_label() for line in axis.get_lines()}
    assert {"iterative, live: mean", f"iterative, {SOURCE_NAMES[other]}: mean"} <= names


def test_a_sweep_leaves_a_table_and_a_figure_of_each_kind(tmp_path: Path) -> None:
    """CSV for spreadsheets, PNG to look at, and both in summary.json."""
    summary = swept()

    names = files.write(summary, tmp_path) + figures.draw(summary, tmp_path)

    assert {"ring_sizes.csv", "clients.csv", "ring-sizes.png", "clients.png"} <= set(names)
    header, first, *_ = (tmp_path / "clients.csv").read_text().splitlines()
    assert header.split(",")[:5] == ["run", "clients", "mode", "count", "lost"]
    assert first.split(",")[:5] == ["sweep-brokered-002", "2", "brokered", "1600", "1"]
    assert (tmp_path / "ring_sizes.csv").read_text().splitlines()[1].split(",")[1] == "4"
    for name in ("ring-sizes.png", "clients.png"):
        pixels = imread(tmp_path / name)
        assert pixels[..., :3].std() > 0.05, f"{name} is blank"
    assert b'"half_log2": 2.0' in summary.as_json() and b'"clients": 512' in summary.as_json()
