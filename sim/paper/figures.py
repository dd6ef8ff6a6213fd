"""All figures, in the order in which they are made."""

from __future__ import annotations

from sim.paper import path_length
from sim.paper.figure import Figure

FIGURES: dict[str, Figure] = {module.FIGURE.name: module.FIGURE for module in (path_length,)}
