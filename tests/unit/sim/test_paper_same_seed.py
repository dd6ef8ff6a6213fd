"""A cell is measured the same again, whatever the hash seed, and leaves the same traces."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PROGRAM = """
import json
import msgspec
from sim.paper import churn, failures, hull, load, lost_keys, path_length, prototype, split, stretch
from sim.paper.traced import Traced
cells = {
    path_length: {"nodes": 32, "kind": "fingers", "rings": 2, "lookups": 20, "seed": 1},
    load: {"nodes": 20, "keys": 100, "seed": 1},
    failures: {"nodes": 40, "successors": 6, "failed": 0.3, "rings": 1, "lookups": 20, "seed": 1},
    lost_keys: {"nodes": 16, "keys": 20, "replicas": 3, "failed": 0.5, "seed": 1},
    churn: {"kind": "leaves", "rate": 0.2, "nodes": 30, "lookups": 30, "warm_up_s": 10.0, "seed": 1},
    stretch: {"nodes": 20, "underlay": "uniform", "askers": 2, "lookups": 12, "seed": 1},
    prototype: {"nodes": 20, "successors": 8, "beds": 1, "seed": 1},
    hull: {**hull.cells(True)[0], "stabilize_s": 3.0, "nodes": 10, "measured_s": 20.0},
    split: {"nodes": 8, "cut_off": 3, "cut_s": 10, "after_s": 1, "seed": 1},
}
told = []
for figure, cell in cells.items():
    traced = Traced()
    told.append([figure.measure(cell, traced), msgspec.to_builtins(traced.rows)])
print(json.dumps(told))
"""


def test_cells_are_measured_the_same_under_another_hash_seed():
    """One of each figure; all but those that look no key up leave rows."""
    first, again = (
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )

    assert first == again
    assert [bool(rows) for _result, rows in json.loads(first)] == [True, False, True, False, *[True] * 5]
