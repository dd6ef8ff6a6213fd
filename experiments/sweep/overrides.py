"""What options of the command line change of a plan.

A value replaces that of the blocks that name its key, or of all blocks when none of them does; an empty one leaves out
the blocks that name it. Of a plan with blocks for a place, `where` keeps only those; of another it moves all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.sweep.plan_file import BadPlan

Override = int | float | bool | str | list[int | str] | list[str]


def overridden(tables: dict[str, Any], changes: Mapping[str, Override]) -> dict[str, Any]:
    """The tables of a plan with these keys of its blocks changed. Raises BadPlan when no block is left."""
    blocks = tables.get("sweep")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        return tables  # it is no plan, which is said where plans are read
    for key, value in changes.items():
        blocks = _moved(blocks, str(value)) if key == "where" else _changed(blocks, key, value)
    if not blocks:
        raise BadPlan("nothing to sweep: the options leave no block of the plan")
    return {**tables, "sweep": blocks}


def _changed(blocks: list[dict[str, Any]], key: str, value: Override) -> list[dict[str, Any]]:
    naming = [block for block in blocks if key in block]
    if value in ("", []):
        return [block for block in blocks if block not in naming]
    return [
        {**block, key: value} if "figure" not in block and (block in naming or not naming) else block
        for block in blocks
    ]


def _moved(blocks: list[dict[str, Any]], place: str) -> list[dict[str, Any]]:
    there = [block for block in blocks if place in _places(block)]
    return [{**block, "where": place} for block in there or blocks if place == "sim" or "figure" not in block]


def _places(block: dict[str, Any]) -> list[Any]:
    where = block.get("where", "local")
    return where if isinstance(where, list) else [where]
