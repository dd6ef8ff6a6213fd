"""Plans as text, and the cells that they make."""

from __future__ import annotations

from textwrap import dedent

from experiments.sweep.cells import Cell
from experiments.sweep.expand import cells_of
from experiments.sweep.overrides import Override, overridden
from experiments.sweep.plan_file import convert, parse


def cells(text: str, **changes: Override) -> list[Cell]:
    """The cells of a plan that is called p.toml, with what options change."""
    return cells_of(convert(overridden(parse('title = "t"\n' + dedent(text), "p.toml"), changes), "p.toml"), "p.toml")


def names(text: str, **changes: Override) -> list[str]:
    """Their names."""
    return [cell.name for cell in cells(text, **changes)]
