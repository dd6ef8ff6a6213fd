"""What clients measure, the CSV files and figures that are made of it."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from broker import cli_plot
from broker.charts import as_time, draw_latencies, draw_rates, latencies_by_label, rate_by_bin, rows_of
from broker.cli_plot import check_plot
from broker.latency_files import OURS, THEIRS, keeping, row_of_ours, row_of_theirs
from broker.measures import Latencies, Rates
from chord.errors import LocalProtocolError
from pubsub.sample import Sample


def sample(topic: str = "A", sequence: int = 1, latency_us: int = 1_500) -> Sample:
    return Sample(topic, "00ff00ff00ff00ff", sequence, 1_000_000, 1_000_000 + latency_us, b"x")


@pytest.fixture
def file() -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as opened:
        yield opened


def test_a_csv_file_has_a_row_a_sample_in_either_form(tmp_path: Path) -> None:
    """Microseconds and sequences as ours, or seconds as others have them."""
    for header, row, expected in (
        (OURS, row_of_ours, "publisher,topic,sequence,latency_us\n00ff00ff00ff00ff,A,1,1500\n"),
        (THEIRS, row_of_theirs, "publisher,topic,total_time_seconds\n00ff00ff00ff00ff,A,0.001500\n"),
    ):
        with keeping(tmp_path / "a.csv", header, row) as keep:
            keep([sample()])

            assert (tmp_path / "a.csv").read_text() == expected


def test_what_was_measured_is_read_again(file: IO[bytes]) -> None:
    """Time, latency and topic of each sample."""
    latencies = Latencies(file, ["A", "B"])
    latencies.keep([sample("B", latency_us=7), sample("A", latency_us=-2)])
    latencies.keep([sample("A", latency_us=9)])

    assert rows_of(file, 3).tolist() == [[1_000_007, 7, 1], [999_998, -2, 0], [1_000_009, 9, 0]]


def test_a_row_that_was_torn_does_not_count(file: IO[bytes]) -> None:
    """A client may be killed in the middle of one."""
    file.write(array("q", range(5)).tobytes() + b"\0")
    file.flush()

    assert rows_of(file, 3).tolist() == [[0, 1, 2]]


def test_a_publisher_counts_now_and_then_and_at_the_end(file: IO[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every 50 ms at most."""
    now_ms = 0
    monkeypatch.setattr("broker.measures.time.monotonic_ns", lambda: now_ms * 1_000_000)
    rates = Rates(file)
    for published in range(1, 101):
        now_ms += 1
        rates.count(published)
    rates.count(100, last=True)

    assert rows_of(file, 2)[:, 1].tolist() == [1, 51, 100]


def test_latencies_are_told_apart_by_subscriber_or_else_by_topic() -> None:
    """Only those that got anything have a label."""
    first, second = np.array([[1, 10, 0], [2, 20, 2]]), np.array([[3, 30, 0]])
    nothing = np.empty((0, 3), dtype=np.int64)

    def told(measured: list[np.ndarray]) -> list[tuple[str, list[int]]]:  # type: ignore[type-arg]
        return [(each.label, each.latency_us.tolist()) for each in latencies_by_label(["A", "B", "C"], measured)]

    assert told([first]) == [("A", [10]), ("C", [20])]
    assert told([first, nothing, second]) == [("subscriber 1", [10, 20]), ("subscriber 3", [30])]
    assert told([nothing]) == []


def test_a_steady_publisher_has_a_steady_rate() -> None:
    """Whatever the bins; and what stood still for a while shows as 0."""
    steady = np.array([[at * 100_000, at * 5] for at in range(101)])
    edges, rate = rate_by_bin(steady)
    assert (edges[0], edges[-1]) == (0.0, 10.0)
    assert rate == pytest.approx(np.full(len(rate), 50.0))

    stood = np.array([[0, 0], [10_000_000, 100], [20_000_000, 100], [30_000_000, 200]])
    _, rate = rate_by_bin(stood)
    assert rate == pytest.approx(np.repeat([10.0, 0.0, 10.0], 10))


@pytest.mark.parametrize(("micros", "text"), [(1.0, "1 us"), (1_500.0, "1.5 ms"), (2_000_000.0, "2 s")])
def test_a_time_has_the_unit_that_reads_best(micros: float, text: str) -> None:
    """With three digits."""
    assert as_time(micros) == text


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_figures_are_drawn_from_one_sample_on(file: IO[bytes], tmp_path: Path, ending: str) -> None:
    """Also when the clocks of two machines make its latency negative."""
    path = tmp_path / f"figure{ending}"
    Latencies(file, ["A"]).keep([sample(latency_us=-5)])

    assert draw_latencies(path, ["A"], [file])
    assert path.stat().st_size > 1_000


def test_a_rate_is_drawn_from_one_sample_on(file: IO[bytes], tmp_path: Path) -> None:
    """Which has no duration."""
    Rates(file).count(1)

    assert draw_rates(tmp_path / "rate.png", 0.0, [file])


def test_nothing_is_drawn_of_nothing(file: IO[bytes], tmp_path: Path) -> None:
    """An empty figure would look like a result."""
    assert not draw_latencies(tmp_path / "a.png", ["A"], [file])
    assert not draw_rates(tmp_path / "b.png", 0.0, [file])
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_it_is_said_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is measured."""
    monkeypatch.setattr(cli_plot, "find_spec", lambda _name: None)

    with pytest.raises(LocalProtocolError, match=r"matplotlib, which is not installed: `pip install 'ringcast"):
        check_plot(Path("a.png"))


@pytest.mark.parametrize(("name", "text"), [("a.csv", "is no figure"), ("a", "is no figure"), ("no/a.png", "No such")])
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, name: str, text: str) -> None:
    """Before anything is measured."""
    with pytest.raises(LocalProtocolError, match=text):
        check_plot(tmp_path / name)
