"""A cell is measured the same again, whatever the hash seed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PROGRAM = """
import json
from sim.paper import failures, load, lost_keys, prototype
cells = {
    load: {"nodes": 20, "keys": 100, "seed": 1},
    failures: {"nodes": 40, "successors": 6, "rings": 1, "lookups": 20, "seed": 1},
    lost_keys: {"nodes": 16, "keys": 20, "replicas": 3, "failed": 0.5, "seed": 1},
    prototype: {"nodes": 20, "successors": 8, "beds": 1, "seed": 1},
}
print(json.dumps([figure.measure(cell) for figure, cell in cells.items()]))
"""


def test_cells_are_measured_the_same_under_another_hash_seed():
    """Of the figures that need no other package."""
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
    assert len(json.loads(first)) == 4
