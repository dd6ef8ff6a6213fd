"""`python -m sim exhaust`: every schedule of a small ring."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from chord.amounts import counted
from sim.exhaustive import Walk, Walked
from sim.exits import INCOMPLETE, UNSAFE
from sim.situations import situations
from sim.telling import told


class Row(msgspec.Struct):
    """What one walk saw, as it is printed. `schedule`: a scenario that breaks the ring, when there is one."""

    situation: str
    nodes: int
    states: int
    transitions: int
    process_states: int
    process_steps: int
    healed: int
    rounds: int
    complete: bool
    wrong: list[str]
    schedule: list[str]


def row_of(walked: Walked) -> Row:
    """What is printed of a walk."""
    situation = walked.situation
    return Row(
        str(situation),
        situation.nodes,
        walked.states,
        walked.transitions,
        walked.process_states,
        walked.process_steps,
        walked.healed,
        walked.rounds,
        walked.complete,
        walked.wrong,
        told(situation, walked.schedule) if walked.wrong else [],
    )


def exhaust(
    nodes: Annotated[int, typer.Option(help="Nodes of the largest rings.", min=2, max=4)] = 4,
    whole: Annotated[bool, typer.Option("--whole", help="Allow more stabilizations: hours, not a minute.")] = False,
    at_most: Annotated[int, typer.Option(help="States of one situation after which it is left.", min=1)] = 10_000_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Walk every schedule of joins, failures and stabilizations on rings of up to four nodes with lists of two entries.

    Every order of messages is tried on the production code, every state is judged, and from every state at rest the
    ring has to become ideal. Who joins is made known by stabilization alone, who enters makes itself known as
    `dht join` does. Exit codes: 0 nothing breaks the ring, 1 something does (the schedule is printed as a
    scenario), 2 usage, 3 nothing was found that does, but not every schedule was walked (--at-most; `complete` is false
    in JSON).

    \b
    Examples:
      python -m sim exhaust --nodes 3
      python -m sim exhaust --whole --at-most 2000000 --json
    """
    rows = []
    for situation in situations(nodes, whole):
        row = row_of(Walk(situation).run(at_most))
        rows.append(row)
        if not as_json:
            _show(row)
        if row.wrong:
            break
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
    else:
        print(f"{sum(row.states for row in rows):,} states, {sum(row.transitions for row in rows):,} transitions")
    if rows[-1].wrong:
        raise typer.Exit(UNSAFE)
    left = sum(not row.complete for row in rows)
    if left:
        typer.echo(
            f"incomplete: {left} of {len(rows)} situations were left after {at_most:,} states, and not every schedule "
            "was walked; raise --at-most",
            err=True,
        )
        raise typer.Exit(INCOMPLETE)


def _show(row: Row) -> None:
    seen = f"{counted(row.states, 'state')}, {counted(row.transitions, 'transition')}"
    if row.wrong:
        print(f"{row.situation}\n  broken after {seen}: {row.wrong[0]}\n")
        print("\n".join(row.schedule), end="\n\n")
        return
    if not row.complete:
        seen = f"left after {seen}"
    ideal = f"; {row.healed:,} at rest, ideal within {counted(row.rounds, 'round')}" if row.healed else ""
    print(f"{row.situation}\n  {seen}{ideal}", flush=True)
