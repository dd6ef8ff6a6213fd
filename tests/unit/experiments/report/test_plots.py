"""What the figures show of hops, and what they need."""

from __future__ import annotations

import subprocess
import sys

import pytest
from matplotlib.figure import Figure

from experiments.analysis.summary import HopCount, Hops, Lookups
from experiments.report import plots


def lookups(p99: int, most: int) -> Lookups:
    """A row of a ring of 16."""
    return Lookups(
        run="r",
        source="live",
        ring_size=16,
        successors=8,
        mode="iterative",
        count=100,
        ok=100,
        failed=0,
        timeouts=0,
        outcomes={"ok": 100},
        hops=Hops(mean=1.2, p50=1, p99=p99, max=most),
        half_log2=2.0,
        expected_hops=1.5,
        latency_us=None,
        owner_us_p50=None,
    )


@pytest.mark.parametrize(
    ("p99", "most", "last", "said"), [(2, 2, 4, "hops"), (3, 40, 5, "hops (2 lookups took more, up to 40)")]
)
def test_hop_bars_end_soon_after_the_99th_percentile(p99: int, most: int, last: int, said: str) -> None:
    """One lookup of 40 hops does not squeeze all others into a corner; the axis says that it is there."""
    counts = [HopCount("r", 16, "iterative", hops, count) for hops, count in ((1, 98), (most, 2))]
    axis = Figure().subplots()

    plots.hop_bars(axis, [lookups(p99, most)], counts)

    assert axis.get_xlim() == (-0.6, last + 0.6)
    assert axis.get_xlabel() == said


def test_figures_are_drawn_without_spark() -> None:
    """Whoever has a Summary draws it on a machine without pyspark and pyarrow."""
    code = "import sys; sys.modules.update(pyspark=None, pyarrow=None); import experiments.report.figures"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
