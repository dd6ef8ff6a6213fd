"""Figures as ratios: ours and the reference take turns in one run, and medians are compared."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable
from typing import Any

import msgspec

Progress = Callable[[str], None]
"""Called with what is being measured."""


class Figure(msgspec.Struct, kw_only=True):
    """One measurement. `ratio` is ours over the reference; `notes` holds what else was seen."""

    name: str
    ours: float
    reference: float
    reference_name: str
    ratio: float
    unit: str
    runs: int
    machine: str
    notes: dict[str, Any]

    def as_json(self) -> bytes:
        """One line of JSON, the notes beside the rest."""
        shown = msgspec.structs.asdict(self)
        shown.update(shown.pop("notes"))
        return msgspec.json.encode(shown)

    def as_text(self) -> str:
        """One line to read."""
        notes = ", ".join(f"{key} {value}" for key, value in self.notes.items())
        return (
            f"{self.name}: {self.ours} {self.unit} against {self.reference} {self.unit} ({self.reference_name}), "
            f"ratio {self.ratio}; {notes}"
        )


def figure(
    name: str, ours: list[float], reference: list[float], reference_name: str, unit: str, notes: dict[str, Any]
) -> Figure:
    """Medians of alternating runs, and the median of the ratios run by run."""
    ratios = [ours_run / reference_run for ours_run, reference_run in zip(ours, reference, strict=True)]
    return Figure(
        name=name,
        ours=round(statistics.median(ours), 2),
        reference=round(statistics.median(reference), 2),
        reference_name=reference_name,
        ratio=round(statistics.median(ratios), 3),
        unit=unit,
        runs=len(ours),
        machine=machine(),
        notes={**notes, "ratio_min": round(min(ratios), 3), "ratio_max": round(max(ratios), 3)},
    )


def machine() -> str:
    """Processor, cores and Python, for a reader of the figures."""
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
            model = names[0] if names else model
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
