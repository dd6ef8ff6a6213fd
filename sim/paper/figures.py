"""All figures, in the order in which they are made."""

from __future__ import annotations

from sim.paper import distribution, path_length
from sim.paper.figure import Figure

MODULES = path_length, distribution
FIGURES: dict[str, Figure] = {module.FIGURE.name: module.FIGURE for module in MODULES}
