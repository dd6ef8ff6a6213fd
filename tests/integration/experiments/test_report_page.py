"""The report in a real browser: everything drawn, nothing fetched, legible wide and narrow, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from experiments.cli_app import app
from tests.integration.experiments.browser import Seen, chromium, opened
from tests.unit.experiments.page.examples import HOSTILE, analysed, of_papers

WIDTHS = (1280, 400)
pytestmark = pytest.mark.timeout(600)

MARKS = """
() => [...document.querySelectorAll('.plot')].map(plot => {
  const all = plot.querySelectorAll('.trace path, .trace use, .points path');
  const boxes = [...all].map(mark => mark.getBoundingClientRect());
  return [plot.id, boxes.filter(box => box.width + box.height > 0).length];
})
"""
"""How many marks of its series each plot shows."""

OUTSIDE = """
() => {
  const within = document.documentElement.clientWidth;
  const scrolled = each => each.closest('.scroll, pre') !== null;
  return [...document.querySelectorAll('body *')].filter(each => !scrolled(each)).flatMap(each => {
    const box = each.getBoundingClientRect();
    const meant = each.classList.contains('skip') || each.closest('defs, clipPath, #js-plotly-tester');
    return box.width && (box.right > within + 1 || box.left < -1) && !meant
      ? [`${each.tagName}.${each.getAttribute('class')} ${Math.round(box.left)}..${Math.round(box.right)}`] : [];
  });
}
"""
"""What reaches beyond the page."""

OVERLAPS = """
() => {
  const found = [];
  const apart = (name, boxes) => {
    for (let a = 0; a < boxes.length; a++) for (let b = a + 1; b < boxes.length; b++) {
      const [one, two] = [boxes[a][1], boxes[b][1]];
      const wide = Math.min(one.right, two.right) - Math.max(one.left, two.left);
      const high = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
      if (wide > 1 && high > 1) found.push(`${name}: ${boxes[a][0]} | ${boxes[b][0]}`);
    }
  };
  const boxes = all => [...all].map(each => [each.textContent.trim().slice(0, 40), each.getBoundingClientRect()]);
  for (const plot of document.querySelectorAll('.plot'))
    apart(plot.id, boxes(plot.querySelectorAll('.xtick text, .ytick text, .annotation-text')));
  for (const panel of document.querySelectorAll('.panel')) apart('panel', boxes(panel.children));
  for (const figure of document.querySelectorAll('.figure')) apart(figure.id, boxes(figure.children));
  apart('cards', boxes(document.querySelectorAll('.card')));
  return found;
}
"""
"""Texts of one plot, and parts of one figure, that lie on each other."""

CUT_OFF = """
() => [...document.querySelectorAll('.plot')].flatMap(plot => {
  const around = plot.getBoundingClientRect();
  return [...plot.querySelectorAll('.xtick text, .ytick text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < around.left - 1 || box.right > around.right + 1 || box.bottom > around.bottom + 1;
  }).map(text => `${plot.id}: ${text.textContent}`);
})
"""
"""Texts at the axes that their plot cuts off."""

CONTRAST = """
() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(each => {
      const part = each / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = each => {
    for (let at = each; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour !== 'rgba(0, 0, 0, 0)') return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const kinds = 'p, li, dt, dd, h1, h2, h3, h4, a, .badge, .legend span, summary, th, td';
  const texts = [...document.querySelectorAll(kinds)];
  return texts.filter(each => each.textContent.trim() && each.checkVisibility()).flatMap(each => {
    const [one, two] = [light(getComputedStyle(each).color), light(ground(each))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (two + 0.05);
    return contrast < 4.5 ? [`${each.textContent.trim().slice(0, 40)}: ${contrast.toFixed(2)}`] : [];
  });
}
"""
"""Texts that do not stand out from their ground as far as WCAG 2.2, 1.4.3 asks for."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run with every table, of the papers' figures, and against a slower run."""
    here = tmp_path_factory.mktemp("report")
    runs = [analysed(here / "run"), of_papers(here / "papers")]
    its = analysed(here / "slower", slower=1.3)
    told = CliRunner().invoke(app, ["report", *map(str, runs), "--against", str(its), "--out", str(here / "out")])
    assert told.exit_code == 0, told.output
    return here / "out" / "report.html"


@pytest.fixture(scope="module")
def pages(browser: Browser, report: Path) -> Iterator[dict[int, Seen]]:
    """The page at every width."""
    with ExitStack() as stack:
        yield {width: stack.enter_context(opened(browser, report, width)) for width in WIDTHS}


@pytest.fixture(params=WIDTHS)
def seen(request: pytest.FixtureRequest, pages: dict[int, Seen]) -> Seen:
    """The page at one width, in front: a browser lets the timers of what nobody looks at wait."""
    pages[request.param].page.bring_to_front()
    return pages[request.param]


@pytest.fixture
def wide(pages: dict[int, Seen]) -> Seen:
    """The page on a large screen, in front, for what does not depend on its width."""
    pages[max(WIDTHS)].page.bring_to_front()
    return pages[max(WIDTHS)]


def test_every_figure_is_drawn_and_nothing_is_fetched(seen: Seen, report: Path) -> None:
    """Each plot has an SVG with marks in it; the console stays silent; the file is all that is asked for."""
    marks = dict(seen.page.evaluate(MARKS))

    assert len(marks) >= 30
    assert [plot for plot, count in marks.items() if not count] == []
    assert seen.said == []
    assert seen.asked == [report.resolve().as_uri()]


def test_nothing_lies_outside_or_on_something_else(seen: Seen) -> None:
    """No scrolling to the side, no text on another, none cut off."""
    width = seen.page.viewport_size["width"] if seen.page.viewport_size else 0
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.page.evaluate(OUTSIDE) == []
    assert seen.page.evaluate(OVERLAPS) == []
    assert seen.page.evaluate(CUT_OFF) == []


def test_no_card_of_the_strip_is_larger_than_the_others_need(seen: Seen) -> None:
    """A card's value takes three lines at most; what is folded below it opens by its name."""
    seen.page.evaluate("document.querySelectorAll('.card details').forEach(each => { each.open = false; })")
    lines = """[...document.querySelectorAll('.card dd:nth-of-type(1)')].map(each =>
      each.clientHeight / parseFloat(getComputedStyle(each).lineHeight))"""
    assert max(seen.page.evaluate(lines)) < 3.5

    seen.page.click(".card summary")

    assert "python 3.11.7" in seen.page.inner_text(".card details")
    assert seen.page.evaluate(OUTSIDE) == []


def test_the_comparison_says_what_it_compares_in_few_lines(seen: Seen) -> None:
    """The first column has room for its words on a narrow page too; on a wide one the box scrolls down at most."""
    box = seen.page.locator("#comparison .scroll").first
    sizes = box.locator("tbody th").evaluate_all("all => all.map(each => each.getBoundingClientRect())")

    assert min(size["width"] for size in sizes) >= 200
    assert max(size["height"] for size in sizes) < 90
    if seen.page.evaluate("innerWidth") == max(WIDTHS):
        assert box.evaluate("each => each.scrollWidth - each.clientWidth") <= 0


def test_a_name_is_never_taken_for_markup(wide: Seen) -> None:
    """A topic's name that is a script and an image stays a text, in tables and in plots."""
    assert HOSTILE in (wide.page.text_content("#slowest") or "")
    assert wide.page.evaluate("document.querySelectorAll('img, iframe, .plot b, svg a').length") == 0
    assert wide.page.evaluate("document.scripts.length") == 3


def test_simulated_never_passes_for_real(wide: Seen) -> None:
    """Every figure has the badges of where it is from, and every simulated series says so in its name."""
    badges: dict[str, list[str]] = wide.page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.figure')].map(each => [each.id, "
        "[...each.querySelectorAll('.badge')].map(badge => badge.textContent)]))"
    )
    panels: dict[str, Any] = wide.page.evaluate("JSON.parse(document.getElementById('panels').textContent)")

    words = {"live": "live", "mininet": "Mininet", "sim": "simulated", "static": "simulated (static ring)"}
    drawn: dict[str, set[str]] = {}
    for plot, panel in panels.items():
        names = [trace["name"] for trace in panel["data"]]
        figure = plot.removeprefix("plot-").rpartition("-")[0]
        drawn.setdefault(figure, set()).update(
            word for word in words.values() if any(name.endswith(f"({word})") for name in names)
        )
    assert {figure: set(own) for figure, own in badges.items()} == drawn
    assert badges["hull"] == ["simulated"]
    assert set(badges["path-length"]) == {"live", "Mininet", "simulated"}
    assert all(badges.values())
    assert any("(live)" in trace["name"] for panel in panels.values() for trace in panel["data"])
    assert all("(simulated)" in trace["name"] for trace in panels["plot-hull-0"]["data"])


def test_a_series_is_hidden_by_its_name_and_a_figure_read_as_a_table(wide: Seen) -> None:
    """By mouse or keyboard: the legend's entries are buttons, the table a disclosure."""
    figure = wide.page.locator("#path-length")
    before = figure.locator(".plot .scatter").count()

    figure.locator(".legend button").first.press("Enter")
    wide.page.wait_for_function(f"document.querySelectorAll('#path-length .plot .scatter').length == {before - 1}")
    figure.locator(".data > summary").press("Enter")

    assert figure.locator(".data table").first.is_visible()
    assert figure.locator(".legend button").first.get_attribute("aria-pressed") == "false"


def test_plots_keep_to_a_page_that_changes_its_width(browser: Browser, report: Path) -> None:
    """A phone that is turned: each plot is as wide as its place, and nothing has to be scrolled to the side."""
    fits = """() => [...document.querySelectorAll('.plot')].every(plot =>
      plot.querySelector('.main-svg').getBoundingClientRect().width <= plot.clientWidth + 1)"""
    with opened(browser, report, max(WIDTHS)) as turned:
        for width in (min(WIDTHS), 800):
            turned.page.set_viewport_size({"width": width, "height": 900})
            turned.page.wait_for_function(fits)
            assert turned.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_texts_stand_out_from_their_ground(wide: Seen, scheme: Any) -> None:
    """In dark and in light; and the plots change their colours with the page.

    One change at a time: a browser says nothing of one that is taken back before its next frame.
    """
    wide.page.evaluate("delete document.documentElement.dataset.drawn")
    wide.page.emulate_media(color_scheme=scheme)
    wide.page.wait_for_selector("html[data-drawn]")

    assert wide.page.evaluate(CONTRAST) == []
    drawn = "getComputedStyle([...document.querySelectorAll('.plot .xtick text')].pop()).fill"
    wide.page.wait_for_function(f"{drawn} === getComputedStyle(document.querySelector('.what')).color")
