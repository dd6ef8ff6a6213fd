"""From the blocks of a plan to its cells: every combination, in the order of the file, each with a name of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from experiments.sweep.cell_names import named
from experiments.sweep.cells import Cell, Fault
from experiments.sweep.known import NO_FAULTS, check_names
from experiments.sweep.limits import RANGES
from experiments.sweep.plan_file import BadPlan, Block, FaultEntry, Numbers, PlanFile
from experiments.sweep.quoting import quoted
from experiments.sweep.targets import expected
from experiments.sweep.values import number, numbers

MOST_CELLS = 10_000
MOST_FAULTS = 1_000
"""Of one fault plan."""

FIGURE_KEYS = ("figure", "quick", "where")
SAME_IN_ALL = (
    *("samples", "rate", "topics", "lookup_rate", "latency"),
    *("bw_mbit", "delay_ms", "capture", "zones", "replicas", "rings"),
)
"""Keys of a block that its cells have in common."""


def cells_of(plan: PlanFile, file: Path | str) -> list[Cell]:
    """The cells of a plan, of two alike only the first. Raises BadPlan."""
    check_names(plan, file)
    found: dict[str, Cell] = {}
    for index, block in enumerate(plan.sweep):
        for cell in _Expansion(plan, block, file, index).cells():
            if found.setdefault(cell.name, cell) != cell:
                raise BadPlan(f"{file}: sweep[{index}]: expected cells unlike any before; seen two named {cell.name}")
            if len(found) > MOST_CELLS:
                raise BadPlan(f"{file}: expected at most {MOST_CELLS:,} cells; seen more")
    return list(found.values())


class _Expansion:
    """One block; `file` and `index` are where it stands, for complaints."""

    def __init__(self, plan: PlanFile, block: Block, file: Path | str, index: int) -> None:
        self._plan = plan
        self._block = block
        self._file = file
        self._place = f"{file}: sweep[{index}]"

    def cells(self) -> Iterator[Cell]:
        """Every combination."""
        block = self._block
        if block.figure is not None:
            yield from self._figures()
            return
        if (block.dissemination is None) != (block.publishers is None):
            raise self._bad("dissemination", "publishers as well, or neither", "one without the other")
        same: dict[str, Any] = {key: getattr(block, key) for key in SAME_IN_ALL}
        same["lookups"] = self._number("lookups", block.lookups)
        choices = self._choices()
        if (count := math.prod(map(len, choices))) > MOST_CELLS:
            raise BadPlan(f"{self._place}: expected at most {MOST_CELLS:,} cells; seen {count:,}")
        for combination in product(*choices):
            chosen = {key: value for choice in combination for key, value in choice.items()}
            cell = Cell(name="", **same, **chosen)
            self._check_times(cell)
            yield named(cell)

    def _choices(self) -> list[list[dict[str, Any]]]:
        """What the cells of the block differ in, the last of it soonest."""
        block = self._block
        return [
            [{"place": place} for place in _several(block.where)],
            [{"topology": topology} for topology in _several(block.topology)],
            [{"vnodes": vnodes} for vnodes in self._numbers("vnodes", block.vnodes)],
            [{"successors": length} for length in self._numbers("successors", block.successors)],
            [{"mode": mode} for mode in _several(block.mode)],
            [{"nodes": nodes} for nodes in self._numbers("nodes", block.nodes)],
            [{"publishers": publish, "subscribers": subscribe} for publish, subscribe in self._clients()],
            [{"dissemination": dissemination} for dissemination in _several(block.dissemination)],
            [{"payload_bytes": size} for size in self._numbers("payload_bytes", block.payload_bytes)],
            [{"faults": self._faults(name), "fault_plan": _plan_name(name)} for name in _several(block.faults)],
            [{"seed": seed} for seed in self._numbers("seeds", block.seeds, every=True)],
            [{"repeat": repeat} for repeat in range(1, block.repeats + 1)],
        ]

    def _figures(self) -> Iterator[Cell]:
        """Those of `python -m sim paper`, which have seeds of their own."""
        block = self._block
        others = [name for name in Block.__struct_fields__ if name not in FIGURE_KEYS and not _is_default(block, name)]
        if others:
            raise self._bad(others[0], "nothing beside figure, quick and where", "it set")
        if block.where != "sim":
            raise self._bad("where", '"sim", where figures are drawn', quoted(block.where))
        for figure in _several(block.figure):
            yield named(Cell(name="", place="sim", nodes=1, figure=figure, quick=block.quick))

    def _clients(self) -> list[tuple[int, int]]:
        """How many publishers and subscribers, the first with the first; one number goes with each of the others."""
        block = self._block
        if block.publishers is None:
            return [(0, 0)]
        publishers = self._listed("publishers", block.publishers)
        subscribers = publishers if block.subscribers is None else self._listed("subscribers", block.subscribers)
        if len(publishers) == 1:
            publishers = publishers * len(subscribers)
        if len(subscribers) == 1:
            subscribers = subscribers * len(publishers)
        if len(publishers) != len(subscribers):
            raise self._bad("subscribers", f"{len(publishers)} numbers, as of publishers", str(len(subscribers)))
        return list(zip(publishers, subscribers, strict=True))

    def _listed(self, key: str, written: Numbers) -> list[int]:
        """Numbers in the order in which they are written, and as often."""
        if isinstance(written, list):
            return [each for item in written for each in self._numbers(key, item)]
        return list(self._numbers(key, written))

    def _faults(self, name: str) -> tuple[Fault, ...]:
        if name == NO_FAULTS:
            return ()
        if name not in self._plan.faults:
            known = ", ".join([NO_FAULTS, *self._plan.faults])
            raise self._bad("faults", f"one of {known}", quoted(name))
        entries = self._plan.faults[name]
        for index, entry in enumerate(entries):
            self._check_fault(entry, f"faults.{name}[{index}]")
        if (count := sum(map(_times, entries))) > MOST_FAULTS:
            raise self._bad("faults", f"at most {MOST_FAULTS:,} faults in {name}", f"{count:,}")
        found = [fault for entry in entries for fault in _repeated(entry)]
        return tuple(sorted(found, key=lambda fault: fault.at_s))

    def _check_fault(self, entry: FaultEntry, place: str) -> None:
        """One that hits something that there may be, and that comes again until some time, or not."""
        if wanted := expected(Fault(kind=entry.kind, at_s=entry.at_s, target=entry.target)):
            raise BadPlan(f"{self._file}: {place}.target: expected {wanted}; seen {quoted(entry.target)}")
        if (entry.every_s is None) != (entry.until_s is None):
            lacking = "until_s" if entry.until_s is None else "every_s"
            raise BadPlan(f"{self._file}: {place}.{lacking}: expected every_s with until_s; seen one without the other")
        if entry.until_s is not None and entry.until_s < entry.at_s:
            raise BadPlan(
                f"{self._file}: {place}.until_s: expected at_s, {entry.at_s:g}, or later; seen {entry.until_s:g}"
            )

    def _check_times(self, cell: Cell) -> None:
        """Every fault comes while the workload is under way."""
        if not cell.faults or cell.faults[-1].at_s == 0:
            return
        lasts_s = cell.workload_s
        if lasts_s is None:
            raise self._bad("lookup_rate", "a rate, so that faults have their time", "none")
        if cell.faults[-1].at_s >= lasts_s:
            raise self._bad(
                "faults",
                f"faults within the {lasts_s:g} s that the workload takes",
                f"one of {cell.fault_plan} at {cell.faults[-1].at_s:g} s",
            )

    def _numbers(self, key: str, written: Numbers, every: bool = False) -> tuple[int, ...]:
        least, most = RANGES[key]
        try:
            found = numbers(written, every)
        except ValueError as error:
            raise BadPlan(f"{self._place}.{key}: {error}") from None
        if not found or found[0] < least or found[-1] > most:
            raise self._bad(key, f"numbers from {least} to {most:,}", quoted(written))
        return found

    def _number(self, key: str, written: int | str) -> int:
        least, most = RANGES[key]
        try:
            found = number(written)
        except ValueError as error:
            raise BadPlan(f"{self._place}.{key}: {error}") from None
        if not least <= found <= most:
            raise self._bad(key, f"a number from {least} to {most:,}", quoted(written))
        return found

    def _bad(self, key: str, expected: str, seen: str) -> BadPlan:
        return BadPlan(f"{self._place}.{key}: expected {expected}; seen {seen}")


def _is_default(block: Block, name: str) -> bool:
    return bool(getattr(block, name) == getattr(Block(), name))


def _several(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _plan_name(name: str) -> str | None:
    return None if name == NO_FAULTS else name


def _repeated(entry: FaultEntry) -> Iterator[Fault]:
    for turn in range(_times(entry)):
        yield Fault(kind=entry.kind, at_s=entry.at_s + turn * (entry.every_s or 0.0), target=entry.target)


def _times(entry: FaultEntry) -> int:
    """How often it comes."""
    if entry.every_s is None or entry.until_s is None:
        return 1
    turns = (entry.until_s - entry.at_s) / entry.every_s + 1e-9
    return 1 + int(min(max(0.0, turns), 1e18))  # of 1e308 / 1e-308 comes infinity
