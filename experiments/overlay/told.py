"""How the long work of this package says how far it is."""

from __future__ import annotations

from collections.abc import Callable

Told = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and of how much."""
