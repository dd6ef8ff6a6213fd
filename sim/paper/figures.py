"""All figures, in the order in which they are made."""

from __future__ import annotations

from sim.paper import (
    churn,
    distribution,
    failures,
    hull,
    load,
    lost_keys,
    path_length,
    prototype,
    split,
    stretch,
)
from sim.paper.figure import Figure

MODULES = path_length, distribution, load, failures, lost_keys, churn, stretch, prototype, hull, split
FIGURES: dict[str, Figure] = {module.FIGURE.name: module.FIGURE for module in MODULES}
