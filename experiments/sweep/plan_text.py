"""The text of a plan: that of a file, or of a plan that comes with Ringcast."""

from __future__ import annotations

import codecs
from pathlib import Path

from experiments import plans
from experiments.sweep.plan_file import BadPlan

MARKS = {codecs.BOM_UTF8: "UTF-8", codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


def plan_text(name: str) -> str:
    """The TOML of a file, or of a plan that is known by name. Raises BadPlan."""
    if not name.endswith(".toml") and "/" not in name:
        if name not in plans.names():
            raise BadPlan(f"there is no plan {name!r}; there are {', '.join(plans.names())}, or give a TOML file")
        return plans.text(name)
    try:
        content = Path(name).read_bytes()
    except FileNotFoundError:
        raise BadPlan(f"{name}: there is no such file; `sweep --list` names the plans that need none") from None
    except OSError as error:
        raise BadPlan(f"{name}: expected a file with a plan in TOML; it cannot be read ({error.strerror})") from None
    return _decoded(content, name)


def _decoded(content: bytes, name: str) -> str:
    for mark, encoding in MARKS.items():
        if content.startswith(mark):
            raise BadPlan(
                f"{name}: expected TOML in UTF-8 without a byte order mark (BOM); seen the BOM of {encoding} at its "
                "beginning: save it as UTF-8 without BOM"
            )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadPlan(
            f"{name}: expected TOML in UTF-8; seen the byte 0x{content[error.start]:02x} in line {line}"
        ) from None
