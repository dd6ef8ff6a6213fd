"""The plans that come with Ringcast, for `python -m experiments sweep NAME`, and the figures that others published."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

THEIRS = "theirs"


def names() -> list[str]:
    """The plans, by name."""
    found = (entry.name for entry in files(__name__).iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml") and name != f"{THEIRS}.toml")


def text(name: str) -> str:
    """The TOML of one plan."""
    return files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8")


def theirs() -> dict[str, Any]:
    """What others published, by the name of the table: title, source, unit, columns, rows."""
    return tomllib.loads(text(THEIRS))
