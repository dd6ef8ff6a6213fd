"""What two sets of runs have in common, and what of it matters."""

from __future__ import annotations

from dataclasses import replace as replace_run
from pathlib import Path

from msgspec.structs import replace

from experiments.analysis.histogram import bucket
from experiments.page.comparing import differences
from experiments.page.comparison import comparison
from experiments.page.material import Material, Run
from experiments.page.rows import Hops, LookupLatency, Lookups
from experiments.page.source import read
from tests.unit.experiments.page.examples import analysed


def of(source: str, counts: dict[int, int], failed: int = 0) -> Material:
    """A run of 16 nodes."""
    lookups = [
        Lookups(run="r", outcome=outcome, count=count)
        for outcome, count in (("ok", sum(counts.values())), ("failed", failed))
    ]
    hops = [Hops(run="r", mode="iterative", hops=each, count=count) for each, count in counts.items()]
    run = Run(name="r", source=source, ring_size=16)
    return Material(runs=[run], hops=hops, lookups=lookups, asked=[Path("other")])


def test_the_same_run_differs_in_nothing() -> None:
    """No interval leaves nought out."""
    found, _ = differences(of("live", {1: 500, 2: 500}), of("live", {1: 500, 2: 500}))

    assert found
    assert not any(each.shown or each.matters for each in found)


def test_what_is_shown_matters_only_from_some_size_on() -> None:
    """A difference of 0.02 hops between a million lookups is sure, and nobody's concern; one of 0.4 is."""
    small, _ = differences(of("live", {1: 500_000, 2: 500_000}), of("live", {1: 520_000, 2: 480_000}))
    large, _ = differences(of("live", {1: 500, 2: 500}), of("live", {1: 900, 2: 100}))

    mean_of_small, mean_of_large = (
        next(each for each in found if each.what.startswith("mean")) for found in (small, large)
    )
    assert mean_of_small.shown
    assert not mean_of_small.matters
    assert mean_of_large.matters
    assert large[0].matters


def test_real_is_never_held_against_simulated() -> None:
    """Only runs of one source are compared."""
    lead, figure, table, found = comparison(of("live", {1: 500, 2: 500}), of("sim", {1: 500, 2: 500}))

    assert (figure, table, found) == (None, None, [])
    assert lead == "Nothing was measured in the same way here and in other."


def test_a_comparison_names_only_what_it_draws() -> None:
    """Of live and simulated runs against live ones alone: those live ones, in panels of their own."""
    one, other = of("live", {1: 500, 2: 500}), of("sim", {3: 500})
    runs = [*one.runs, Run(name="s", source="sim", ring_size=64)]
    ours = Material(
        runs=runs,
        hops=[*one.hops, *(replace(row, run="s") for row in other.hops)],
        lookups=[*one.lookups, *(replace(row, run="s") for row in other.lookups)],
    )

    _, figure, _, found = comparison(ours, of("live", {1: 900, 2: 100}))

    assert figure is not None
    assert figure.sources == ["live"]
    assert figure.runs == ["r", "r of other"]
    assert figure.counts.startswith(f"{len(found)} of {len(found)} measurements")
    assert all(panel.title.endswith(", live") for panel in figure.panels)


def test_a_ratio_of_a_hundred_leaves_the_others_legible() -> None:
    """The axis is logarithmic, begins above 0, and an interval that has no end ends with it."""
    one, hundred = (Material(runs=[Run(name="r", source="live", ring_size=16)], asked=[Path("other")]) for _ in "ab")
    for material, us in ((one, 500), (hundred, 50_000)):
        for mode, own in (("iterative", us), ("recursive", 500)):
            material.lookup_latency += [LookupLatency(run="r", mode=mode, bucket=bucket(own), count=40)]
    hundred.hops = [Hops(run="r", mode="iterative", hops=each, count=count) for each, count in ((0, 1), (1, 39))]
    one.hops = [Hops(run="r", mode="iterative", hops=each, count=count) for each, count in ((0, 39), (1, 1))]

    _, figure, table, _ = comparison(hundred, one)

    assert figure is not None
    assert table is not None
    (panel,) = figure.panels
    assert panel.x.scale == "log"
    assert panel.x.least is not None
    assert panel.x.most is not None
    assert panel.x.ticks
    assert {1.0, 10.0, 100.0} <= {place for place, _ in panel.x.ticks}
    for series in panel.series[:-1]:
        for at, low, high in zip(series.x, series.low or (), series.high or (), strict=True):
            assert panel.x.least <= (low or 0) <= float(at) <= (high or 0) <= panel.x.most
    assert "how" not in table.columns
    assert table.title.endswith("All intervals: bootstrap of rows")


def test_sources_are_compared_apart() -> None:
    """Live and simulated differences have axes of their own."""
    one, other = of("live", {1: 500, 2: 500}), of("sim", {1: 500, 2: 500})
    both = Material(
        runs=[*one.runs, replace_run(other.runs[0], name="s")],
        hops=[*one.hops, *(replace(row, run="s") for row in other.hops)],
        asked=[Path("both")],
    )

    _, figure, _, _ = comparison(both, both)

    assert figure is not None
    assert figure.sources == ["live", "sim"]
    assert all(len({one.source for one in panel.series} & {"live", "sim"}) == 1 for panel in figure.panels)


def test_failures_that_only_one_side_has_are_shown() -> None:
    """By an interval that holds where a share is 0."""
    found, _ = differences(of("live", {1: 1000}, failed=50), of("live", {1: 1000}))

    share = next(each for each in found if each.what.startswith("share of failed lookups"))
    assert share.its == 0
    assert share.matters
    assert share.method == "analytic (Newcombe)"


def test_the_level_of_each_grows_with_their_number() -> None:
    """Bonferroni: all hold together."""
    found, level = differences(of("live", {1: 500, 2: 500}), of("live", {1: 500, 2: 500}))

    assert level == 1 - 0.05 / len(found)


def test_a_slower_run_is_told_as_such(tmp_path: Path) -> None:
    """Latencies 1.3 times as long come out so, by the same seed each time."""
    ours, its = read([analysed(tmp_path / "ours")]), read([analysed(tmp_path / "its", slower=1.3)])

    lead, figure, table, found = comparison(ours, its)

    assert "Bonferroni" in lead
    assert figure is not None
    assert table is not None
    medians = [each for each in found if each.what.startswith("median of delivery latency")]
    assert medians
    assert all(each.matters and 0.74 < each.ours / each.its < 0.80 for each in medians)
