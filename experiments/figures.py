"""placeholder"""
from pathlib import Path

from experiments.summary import Summary


def draw(summary: Summary, out: Path) -> list[str]:
    return []
