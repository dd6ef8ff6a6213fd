"""The knobs of a ring process, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass, field

from chord.errors import LocalProtocolError
from chord.identifiers import IdentifierSpace


@dataclass(frozen=True, slots=True)
class Settings:
    """What the members of a process are run with. Times in seconds."""

    cluster: str = "ringcast"
    successors: int = 8
    """Entries of the successor list; 2 log2 N for large rings."""

    replicas: int = 3
    """Processes that hold each record."""

    failures: int = 2
    """Processes that may fail at once: a list spans at least one more than that."""

    stabilize_s: float = 0.4
    """Pause between stabilizations when nothing changes; each pause is shortened by up to a quarter, at random."""

    fingers_s: float = 5.0
    """Pause between refreshes of the whole finger table."""

    repair_s: float = 2.0
    """Pause between comparisons with the replicas when nothing changes."""

    heal_s: float = 3.0
    """Pause between probes of peers that were lost, and of the bootstrap contacts."""

    space: IdentifierSpace = field(default_factory=IdentifierSpace)

    @property
    def others(self) -> int:
        """How many other processes a list spans: those that may fail and one more, or all that hold a record."""
        return max(self.failures + 1, self.replicas - 1)

    @property
    def silence_s(self) -> float:
        """A predecessor unheard for this long does not keep its successor from answering for it."""
        return max(1.5, 3 * self.stabilize_s)

    def __post_init__(self) -> None:
        if not 1 <= self.successors <= 128:
            raise LocalProtocolError(f"a successor list has 1 to 128 entries, not {self.successors}")
        if not 1 <= self.replicas <= 16:
            raise LocalProtocolError(f"a record has 1 to 16 replicas, not {self.replicas}")
        if self.stabilize_s <= 0:
            raise LocalProtocolError(f"the stabilization pause must be positive, not {self.stabilize_s}")
