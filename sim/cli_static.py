"""`python -m sim static`: lookups in rings of up to millions of nodes that stand still."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from chord.errors import LocalProtocolError
from chord.limits import MAX_VNODES
from sim.static.report import Engine, IdentifierSource, Options, Report, fastest

MOST_MEMBERS = 1 << 26
"""For whom about 2 GB are needed."""

MOST_HASHED = 1 << 24
"""There are no more addresses of simulated nodes."""

MOST_LOOKUPS = 10**12
HASHED_UP_TO = 1 << 20


def amount(text: str | int) -> int:
    """A number as people write it: 1000000, 1_000_000, 2^20 or 2**20. Raises typer.BadParameter."""
    wanted = re.fullmatch(r"(\d[\d_]*)(?:(?:\^|\*\*)(\d{1,2}))?", str(text).strip())
    if wanted is None or wanted[1].endswith("_") or "__" in wanted[1]:
        raise typer.BadParameter(f"{str(text)!r} is no number such as 1000 or 2^20")
    base, power = int(wanted[1]), int(wanted[2] or 1)
    return int(base**power)


def static(
    nodes: Annotated[int, typer.Option(help="Nodes in the ring: 1000, 2^20, ...", parser=amount, metavar="N")] = 1
    << 20,
    lookups: Annotated[int, typer.Option(help="Random keys to look up.", parser=amount, metavar="N")] = 1_000_000,
    successors: Annotated[
        int, typer.Option(help="Entries of the successor list that lookups use beside the fingers.", min=0, max=128)
    ] = 0,
    vnodes: Annotated[int, typer.Option(help="Virtual nodes of each node.", min=1, max=MAX_VNODES)] = 1,
    fail: Annotated[
        float, typer.Option(help="Probability with which each node has failed; nothing is repaired.", min=0.0)
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Decides everything that is left to chance.", min=0)] = 1,
    identifiers: Annotated[
        IdentifierSource | None,
        typer.Option(help="As the production code hashes them, the default up to 2^20 members; or random."),
    ] = None,
    engine: Annotated[
        Engine | None, typer.Option(help="numba is the default where it is installed; both find the same.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look random keys up in a ring that stands still, from random nodes, without stored tables.

    Next hops are those of the production code, found by a search at each hop instead of in tables: 12 bytes a node.
    The same seed gives the same hops, by either engine. Exit codes: 0 done, 2 usage.

    \b
    Examples:
      python -m sim static
      python -m sim static --nodes 2^24 --lookups 2^20
      python -m sim static --nodes 1000 --successors 20 --fail 0.5  # table II
      python -m sim static --nodes 10000 --vnodes 20 --json
    """
    _check(nodes, lookups, vnodes, fail, identifiers)
    if identifiers is None:
        identifiers = IdentifierSource.hashed if nodes * vnodes <= HASHED_UP_TO else IdentifierSource.drawn
    if engine is None:
        engine = fastest()
    options = Options(
        nodes=nodes,
        lookups=lookups,
        successors=successors,
        vnodes=vnodes,
        fail=fail,
        seed=seed,
        identifiers=identifiers,
        engine=engine,
    )
    report = _run(options)
    if as_json:
        shown = msgspec.to_builtins(report) | {"lookups_per_s": report.lookups_per_s, "peak_mb": peak_mb()}
        print(msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())
    else:
        from sim.static.render import report_table

        report_table(report, peak_mb())


def _check(nodes: int, lookups: int, vnodes: int, fail: float, identifiers: IdentifierSource | None) -> None:
    """Raises typer.BadParameter for what no ring of this kind could be."""
    if nodes < 1:
        raise typer.BadParameter("a ring has at least one node", param_hint="--nodes")
    if nodes * vnodes > MOST_MEMBERS:
        raise typer.BadParameter(
            f"{nodes:,} nodes of {vnodes:,} virtual ones each are more than 2^26 members", param_hint="--nodes"
        )
    if identifiers is IdentifierSource.hashed and nodes > MOST_HASHED:
        raise typer.BadParameter(
            "there are addresses for 2^24 nodes; take --identifiers drawn for more", param_hint="--identifiers"
        )
    if not 1 <= lookups <= MOST_LOOKUPS:
        raise typer.BadParameter(f"between 1 and 10^12 keys can be looked up, not {lookups:,}", param_hint="--lookups")
    if not fail < 1.0:
        raise typer.BadParameter(f"{fail} is not below 1: nobody would be left to ask", param_hint="--fail")


def _run(options: Options) -> Report:
    """Run the study, with a bar on standard error if that is a terminal. Raises typer.BadParameter."""
    try:
        from sim.static import study  # only who asks for a static ring loads numpy
    except ModuleNotFoundError as error:
        raise typer.BadParameter(
            f"static rings need {error.name}, which is not installed: `pip install 'ringcast[sim]'`",
            param_hint="static",
        ) from None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("lookups", total=options.lookups)
        try:
            return study.run(options, progress.get_time, lambda count: progress.advance(bar, count))
        except study.NobodyLeft as error:
            raise typer.BadParameter(str(error), param_hint="--fail") from None
        except LocalProtocolError as error:
            raise typer.BadParameter(str(error), param_hint="--engine") from None


def peak_mb() -> float:
    """The most memory that this process has had, in MB; of no earlier one, as getrusage may tell after an exec."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
