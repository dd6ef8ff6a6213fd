"""The page: everything in one file, nothing fetched, and every name in it escaped.

Names come from traces and may be hostile. The template escapes what it writes; JSON for the script has no `<`; and the
page's content policy lets no script run but the two that are named in it by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from experiments.analysis.summary import SOURCE_NAMES
from experiments.page import legend, plotly_form, tables
from experiments.page.cards import Card
from experiments.page.chart import Figure, Panel
from experiments.page.tables import Table

TEMPLATES = Path(__file__).with_name("template")


@dataclass(frozen=True)
class Section:
    """A heading, with tables and figures under it."""

    id: str
    title: str
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    lead: str = ""


@dataclass(frozen=True)
class Page:
    """What the page says beside its figures."""

    title: str
    lead: str
    sources: Sequence[str]
    cards: Sequence[Card]
    sections: Sequence[Section]
    footer: str = field(default="")


def render(page: Page) -> str:
    """The whole page."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    plotly, script = _plotly(), (TEMPLATES / "report.js").read_text()
    panels = {
        _id(figure, place): plotly_form.panel(panel)
        for section in page.sections
        for figure in section.figures
        for place, panel in enumerate(figure.panels)
    }
    return environment.get_template("report.html").render(
        title=page.title,
        lead=page.lead,
        sources=page.sources,
        source_names=SOURCE_NAMES,
        cards=page.cards,
        sections=[_section(section) for section in page.sections],
        footer=page.footer,
        policy=_policy(plotly, script),
        style=Markup((TEMPLATES / "report.css").read_text()),
        panels=Markup(_for_script(panels)),
        plotly=Markup(plotly),
        script=Markup(script),
    )


def _plotly() -> str:
    return files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """Nothing is fetched; scripts run by hash. Plotly sets styles as it draws."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts
    )
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"


def _for_script(content: object) -> str:
    """JSON that no parser of HTML takes for the end of its element, or for a comment."""
    return msgspec.json.encode(content).decode().replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _section(section: Section) -> dict[str, Any]:
    figures = [_figure(figure) for figure in section.figures]
    return {
        "id": section.id,
        "title": section.title,
        "lead": section.lead,
        "tables": section.tables,
        "figures": figures,
    }


def _figure(figure: Figure) -> dict[str, Any]:
    content = base64.b64encode(tables.as_csv(figure).encode()).decode()
    return {
        **{name: getattr(figure, name) for name in ("name", "title", "what", "finding", "runs", "counts", "sources")},
        "seeds": figure.seeds,
        "notes": figure.notes,
        "csv": f"data:text/csv;charset=utf-8;base64,{content}",
        "panels": list(_panels(figure)),
    }


def _panels(figure: Figure) -> Iterator[dict[str, Any]]:
    for place, panel in enumerate(figure.panels):
        yield {
            "id": _id(figure, place),
            "title": panel.title,
            "x": panel.x.title,
            "y": panel.y.title,
            "legend": list(legend.entries(panel)),
            "table": tables.as_table(panel),
            "alternative": _alternative(figure, panel),
        }


def _alternative(figure: Figure, panel: Panel) -> str:
    """What a reader who does not see the plot is told; the numbers are in the table below it."""
    title = ": ".join(text for text in (figure.title, panel.title) if text)
    names = "; ".join(series.name for series in panel.series)
    return f"{title}. {panel.y.title} against {panel.x.title}. Series: {names}. {figure.finding}"


def _id(figure: Figure, place: int) -> str:
    return f"plot-{figure.name}-{place}"
