"""`python -m experiments bench`: ours and a reference take turns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Which; all by default.", metavar="NAME")] = None,
    runs: Annotated[int, typer.Option(help="Alternating runs of each.", min=1, max=100)] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON for each figure.")] = False,
    out: Annotated[Path | None, typer.Option(help="A file that gets the lines of JSON, whatever is printed.")] = None,
) -> None:
    """Measure: ours and a reference take turns, medians and their ratio are printed. Progress goes to stderr.

    \b
    Examples:
      python -m experiments bench lookup
      python -m experiments bench --out bench.json

    Exit codes: 0 measured, 1 failed, 2 usage or a package that is not installed, 130 interrupted.
    """
    from experiments.bench import bench as work
    from sim.cli_files import check_writable

    if out is not None:
        check_writable(out, "--out")
    work(names or [], runs, as_json, out)
