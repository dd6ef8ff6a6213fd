"""A static sweep, which leaves no traces, has a table of path lengths."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from experiments.analysis.counts import together
from experiments.analysis.static_rings import static_rings
from experiments.analysis.summarise import summarise
from experiments.analysis.summary import Hops, StaticRing, Summary
from experiments.report import files
from experiments.report.terminal import print_summary
from experiments.traces import examples
from experiments.traces.parquet import Ingested
from experiments.traces.run import BadRun, parts


def save(folder: Path, ring_size: int, hops: dict[int, list[int]], **told: object) -> None:
    """One cell: for each hop count the lookups of each of its rings."""
    info = replace(examples.RUN, run=folder.name, ring_size=ring_size, successors=None, extra=told)
    info.save(folder)
    rows = [
        {"seed": seed, "ring_size": ring_size, "mode": "iterative", "hops": each, "count": count, "timeouts": 0}
        for each, counts in hops.items()
        for seed, count in enumerate(counts)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "aggregates.parquet")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two cells, of which the larger has two rings and a lookup that got nowhere."""
    save(tmp_path / "large", 1 << 20, {9: [50, 40], 10: [60, 48], 12: [0, 1]}, lookups=200, failed=1, expected_hops=9.9)
    save(tmp_path / "small", 16, {1: [3], 2: [1]}, lookups=4, failed=0, expected_hops=None)
    return tmp_path


def test_the_rings_of_a_cell_count_together(run: Path) -> None:
    """By size; the mean is that of all lookups."""
    small, large = static_rings(parts(run))

    assert (small.ring_size, small.lookups, small.expected_hops) == (16, 4, None)
    assert large == StaticRing(
        run="large",
        ring_size=1 << 20,
        successors=None,
        vnodes=None,
        mode="iterative",
        lookups=200,
        failed=1,
        hops=Hops(mean=round((9 * 90 + 10 * 108 + 12) / 199, 4), p50=10, p99=10, max=12),
        expected_hops=9.9,
    )


def test_a_cell_that_tells_nothing_of_itself_is_counted(tmp_path: Path) -> None:
    """As of an older version, or written by hand."""
    save(tmp_path / "s", 16, {1: [3], 2: [1]})

    (row,) = static_rings(parts(tmp_path))

    assert (row.lookups, row.failed, row.expected_hops, row.hops.mean) == (4, None, None, 1.25)
    pq.write_table(pa.table({"hops": [1]}), tmp_path / "s" / "aggregates.parquet")
    with pytest.raises(BadRun, match="lacks mode, count"):
        static_rings(parts(tmp_path))


def test_the_analysis_of_a_static_sweep_says_what_it_found(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table within 80 columns, a CSV file, summary.json; and no comma that nothing follows."""
    summary = summarise(parts(run), Ingested(), together([]))
    summary.elapsed_s = {"total": 1.0}
    bare = replace(summary, static_rings=[], files=[])
    summary.files = files.write(summary, tmp_path / "out")

    shown = _shown(summary, capsys)

    assert summary.files == ["static_rings.csv"]
    assert (tmp_path / "out" / "static_rings.csv").read_text().splitlines()[2].startswith("large,1048576,")
    assert b'"static_rings": [' in summary.as_json()
    assert "no trace rows" not in shown and "\n204 lookups in static rings\n" in shown
    assert "Path lengths in static rings" in shown and "half log2 N - 0.138" in shown
    fields = [line.split() for line in shown.splitlines()]
    assert ["iterative", "1,048,576", "200", "1", "9.558", "10", "10", "9.900"] in fields
    assert max(map(len, shown.splitlines())) <= 80
    assert "out: summary.json, static_rings.csv\n" in shown
    assert "out: summary.json\n" in _shown(bare, capsys)


def _shown(summary: Summary, capsys: pytest.CaptureFixture[str]) -> str:
    print_summary(summary, Path("out"))
    return capsys.readouterr().out
