"""What a watch tells whoever shows it: rows of its table that changed, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from experiments.traces.spools import Damage
from experiments.watch.windows import Window


@dataclass(slots=True)
class State:
    """How far a watch is: what its display shows beside windows. `doing` is empty while it counts."""

    parts: int = 0
    landed: int = 0
    counted: int = 0
    late: int = 0
    twice: int = 0
    damage: Damage = field(default_factory=Damage)
    problems: list[str] = field(default_factory=list)
    doing: str = ""


class Display(Protocol):
    """Whoever is shown the windows."""

    def begin(self, windows: Sequence[Window]) -> None:
        """The last rows that an earlier watch left."""

    def changed(self, windows: Sequence[Window]) -> None:
        """Rows of the table that changed. Called from any thread; what it raises would end the stream."""

    def state(self, state: State, /) -> None:
        """How far the watch is, a few times a second."""
