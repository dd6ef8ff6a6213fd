"""What a figure is: cells to be measured, and how their results are told beside the published ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sim.paper.traced import Traced

Value = int | float | str
Parameters = dict[str, Value]
"""What a cell is to measure; the seed is one of them."""

Result = dict[str, Any]
"""What it measured, as JSON."""


@dataclass(frozen=True)
class Measured:
    """A cell with its result."""

    parameters: Parameters
    result: Result


@dataclass(frozen=True)
class Table:
    """Rows for people and for CSV. `agrees`: what was expected of the figure, and whether it came out so.

    A terminal has no room for all columns of some: it shows those of `shown`, or all if there are none; and of the rows
    those whose numbers, from 0, are in `telling`, or the first ones. `notes` are lines that stand below them.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Value | None]]
    agrees: Sequence[tuple[str, bool]] = field(default_factory=tuple)
    shown: Sequence[str] = field(default_factory=tuple)
    telling: Sequence[int] = field(default_factory=tuple)
    notes: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Figure:
    """`name` is what the command line calls it; `source` the paper and its figure.

    `cells(quick)` says what is measured, `measure` one of them, on any process, and has lookups leave their traces;
    `table` and `draw` tell them all.
    """

    name: str
    title: str
    source: str
    cells: Callable[[bool], list[Parameters]]
    measure: Callable[[Parameters, Traced], Result]
    table: Callable[[Sequence[Measured]], Table]
    draw: Callable[[Axes, Sequence[Measured]], None]
