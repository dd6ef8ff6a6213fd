"""The page as text: nothing in it comes from elsewhere, every name is escaped, simulated is told as such."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments.page import html_page, png, tables
from experiments.page.cards import cards
from experiments.page.chart import Figure
from experiments.page.figures import figures
from experiments.page.figures.distribution import path_distribution
from experiments.page.figures.latencies import latency_cdf
from experiments.page.figures.load import hot_keys, node_load
from experiments.page.figures.time_lines import time_line
from experiments.page.html_page import Page, Section
from experiments.page.material import Material, Run
from experiments.page.rows import Hops, HotKey, LookupLatency, NodeLoad, Second
from experiments.page.source import read
from experiments.traces.run import BadRun
from tests.unit.experiments.page.examples import HOSTILE, analysed, of_papers


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    """A run with every table, and every figure of the papers."""
    here = tmp_path_factory.mktemp("material")
    return read([analysed(here / "run"), of_papers(here / "papers")])


@pytest.fixture(scope="module")
def found(material: Material) -> list[Figure]:
    """Every figure there is."""
    return figures(material)


class Elements(HTMLParser):
    """Counts elements, and keeps what they refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.refers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.refers += [value or "" for name, value in attrs if name in ("src", "href")]
        assert not [name for name, _ in attrs if name.startswith("on")]


def test_every_figure_that_readers_of_the_papers_expect_is_there(found: list[Figure]) -> None:
    """Their list, and what the tables of a run with faults, clients and captures add."""
    assert {figure.name for figure in found} >= {
        *("path-length", "path-distribution", "keys-per-node", "failed-lookups", "under-failures", "latency-cdf"),
        *("latency-by-clients", "failover", "time-line", "app-and-wire", "node-load", "hot-keys", "slowest"),
    }


def test_every_axis_says_its_unit_and_every_figure_what_it_is_of(found: list[Figure]) -> None:
    """A unit stands in brackets; runs, counts and sources are never left out."""
    titles = [axis.title for figure in found for panel in figure.panels for axis in (panel.x, panel.y)]
    assert [title for title in titles if not re.search(r"\(.+\)", title) and not title.startswith("row ")] == []
    for figure in found:
        assert figure.runs, figure.name
        assert figure.counts, figure.name
        assert figure.sources, figure.name


def test_series_of_the_simulator_say_so(found: list[Figure]) -> None:
    """In their names, which stand in legends, CSV and tables."""
    series = [one for figure in found for panel in figure.panels for one in panel.series]
    assert {one.source for one in series} >= {"live", "mininet", "sim", "published", "law"}
    assert [one.name for one in series if one.source == "sim" and "(simulated" not in one.name] == []
    assert [one.name for one in series if one.source == "live" and "(live)" not in one.name] == []


def test_real_and_simulated_have_panels_of_their_own(found: list[Figure]) -> None:
    """Where runs are drawn one by one or by their largest; figures against N have a series for each."""
    for figure in found:
        if figure.name in ("path-distribution", "latency-cdf", "slowest", "hot-keys", "node-load", "failover"):
            for panel in figure.panels:
                assert len({one.source for one in panel.series} - {"law", "published"}) == 1, (figure.name, panel.title)


def test_the_distribution_shows_every_source_and_counts_what_it_shows() -> None:
    """Static rings are the largest by far, and do not crowd out the others; smaller rings are not counted."""
    sizes = {"live": (4, 8), "sim": (16, 64), "static": (1_024, 4_096, 16_384)}
    runs = [Run(name=f"{source}-{size}", source=source, ring_size=size) for source in sizes for size in sizes[source]]
    hops = [
        Hops(run=run.name, source=run.source, ring_size=run.ring_size, hops=hop, count=100)
        for run in runs
        for hop in (1, 2)
    ]

    figure = path_distribution(Material(runs=runs, hops=hops))

    assert figure is not None
    assert [panel.title for panel in figure.panels] == [
        *("N = 8, live", "N = 64, simulated", "N = 16,384, simulated (static ring)")
    ]
    assert set(figure.sources) == set(sizes)
    assert figure.runs == ["live-8", "sim-64", "static-16384"]
    assert figure.counts == "600 lookups"


def test_figures_of_some_runs_count_and_name_only_those() -> None:
    """Latency and load are drawn of so many runs a source, time lines of so many in all: one of each source first."""
    runs = [
        Run(name=f"{source}-{number}", source=source, started_us=1, kill_us=5_000_001)
        for source in ("live", "sim")
        for number in range(9)
    ]
    names = [(run.name, run.source) for run in runs]
    latencies = [LookupLatency(run=name, source=of, bucket=500, count=10) for name, of in names]
    loads = [NodeLoad(run=name, node="n", lookups_routed=10) for name, _ in names]
    seconds = [Second(run=name, second=at, kind="lookup ok", count=10) for name, _ in names for at in range(5)]

    cdf, load, line = (
        make(Material(runs=runs, lookup_latency=latencies, node_load=loads, timeline=seconds))
        for make in (latency_cdf, node_load, time_line)
    )

    assert cdf is not None
    assert load is not None
    assert line is not None
    assert (len(cdf.runs), cdf.counts, cdf.sources) == (16, "160 lookups", ["live", "sim"])
    assert (len(load.runs), load.counts, load.sources) == (12, "120 steps of lookups", ["live", "sim"])
    assert (line.runs, line.counts) == (["live-0", "sim-0", "live-1"], "150 rows")


def test_hot_keys_of_the_simulator_are_not_told_as_live() -> None:
    """Each source has bars of its own, whichever was looked up most."""
    runs = [Run(name=source, source=source) for source in ("live", "sim")]
    keys = [HotKey(run=run.name, key="k", count=count) for run, count in zip(runs, (9, 8), strict=True)]

    figure = hot_keys(Material(runs=runs, hot_keys=keys))

    assert figure is not None
    assert figure.sources == ["live", "sim"]
    assert [panel.series[0].name for panel in figure.panels] == ["lookups (live)", "lookups (simulated)"]


def test_the_page_asks_for_nothing_and_takes_no_name_for_markup(found: list[Figure], material: Material) -> None:
    """All that it refers to is itself, files beside it, and data; a name's tags are none of its own."""
    page = Page(
        title=HOSTILE, lead=HOSTILE, sources=["live"], cards=cards(material), sections=[Section("all", HOSTILE, found)]
    )

    text = html_page.render(page)

    elements = Elements()
    elements.feed(text)
    assert "img" not in elements.names
    assert elements.names.count("script") == 3
    assert [each for each in elements.refers if not re.match(r"#|data:|figures/[\w-]+\.png$", each)] == []
    assert "default-src &#39;none&#39;" in text
    assert 'evil.invalid/x onerror="alert' not in text


def test_what_nothing_tells_is_not_taken_for_nought() -> None:
    """A report without lookups or samples claims neither that none failed nor that none were lost."""
    values = {card.name: (card.value, card.state) for card in cards(Material())}

    assert values["Failed lookups"] == values["Lost samples"] == values["Wrong owners"] == ("–", "")


def test_the_strip_tells_what_went_wrong(material: Material) -> None:
    """Failed lookups and owners that conflict are counted, and marked."""
    values = {card.name: (card.value, card.state) for card in cards(material)}

    assert values["Failed lookups"] == ("3", "bad")
    assert values["Wrong owners"] == ("2", "bad")
    assert values["Lost samples"] == ("0", "good")


def test_the_parts_of_the_trace_rows_sum_to_the_whole() -> None:
    """Every kind of row that there is, and none that there is not."""
    rows = {"lookup": 3_512, "delivery": 240, "publication": 13, "event": 238, "span": 0}

    card = next(card for card in cards(Material(rows=rows)) if card.name == "Trace rows")

    assert card.value == "4,003"
    assert card.said == "3,512 lookup, 240 delivery, 238 event, 13 publication"


def test_a_machine_is_told_in_a_few_words_and_its_versions_below(material: Material) -> None:
    """Processor, cores, memory and kernel; no structure of the file that they come from."""
    card = next(card for card in cards(material) if card.name == "Machine")

    assert card.value == "AMD EPYC, 2 cores, 24 GB, Linux 6.18"
    assert ("python", "3.11.7") in card.folded
    assert not [text for text in (card.value, card.said, *map(str, dict(card.folded).values())) if "{" in text]


def test_machines_that_differ_are_all_told() -> None:
    """The first one by name, the others below it; versions that changed between runs each."""
    one = {"cpu": "A", "cores": 1, "memory_mb": 8_000, "kernel": "6.1.0", "versions": {"python": "3.11"}}
    other = {**one, "cpu": "B", "versions": {"python": "3.12"}}
    runs = [Run(name=name, source="live", machine=each) for name, each in (("a", one), ("b", other), ("c", {}))]

    card = next(card for card in cards(Material(runs=runs)) if card.name == "Machine")

    assert card.value == "A, 1 core, 8 GB, Linux 6.1, and 1 other"
    assert card.folded == [("another", "B, 1 core, 8 GB, Linux 6.1"), ("python", "3.11, 3.12")]


def test_csv_has_every_point_and_no_formula(found: list[Figure]) -> None:
    """A row a point; a name that a spreadsheet would run begins with an apostrophe."""
    for figure in found:
        points = sum(len(one.x) for panel in figure.panels for one in panel.series if any(y is not None for y in one.y))
        assert len(tables.as_csv(figure).splitlines()) >= points + 1
    assert tables._safe("=1+1") == "'=1+1"


def test_a_hostile_name_is_drawn_as_text(found: list[Figure], tmp_path: Path) -> None:
    """matplotlib takes no `$` of a name for a formula."""
    figure = next(figure for figure in found if figure.name == "hot-keys")
    png.write(figure, tmp_path / "x.png")

    assert (tmp_path / "x.png").stat().st_size > 10_000


def test_a_directory_that_was_not_analysed_says_what_to_do(tmp_path: Path) -> None:
    """Naming the command."""
    with pytest.raises(BadRun, match=r"holds no analysis .* run `python -m experiments analyse"):
        read([tmp_path])


def test_runs_of_one_name_keep_apart(tmp_path: Path) -> None:
    """The second gets the name of its directory before its own, in its rows too."""
    material = read([analysed(tmp_path / "one"), analysed(tmp_path / "two")])

    names = [run.name for run in material.runs]
    assert len(set(names)) == len(names)
    assert "two/killed" in names
    assert {row.run for row in material.hops} <= set(names)
