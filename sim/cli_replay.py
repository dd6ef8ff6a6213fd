"""`python -m sim replay`: rerun what a real node recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from chord.amounts import counted
from sim.exits import FAILED
from sim.recording_file import Unreadable
from sim.replay import Replayed
from sim.replay import replay as replayed


def replay(
    file: Annotated[Path, typer.Argument(help="What `dht join --record FILE` left.", metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rerun what a real ring node recorded at the boundary of its kernel, and compare every effect, byte for byte.

    A file that was cut short by kill -9 is replayed as far as it goes, and one that is still being recorded as far as
    it went at first. Exit codes: 0 every effect is as recorded, 1 one differs, 2 usage or no recording.

    \b
    Examples:
      dht join --bootstrap 127.0.0.1:5000 --record node.rec
      python -m sim replay node.rec
    """
    try:
        report = replayed(file)
    except Unreadable as error:
        raise typer.BadParameter(str(error), param_hint="FILE") from None
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        _show(report)
    if report.difference is not None:
        raise typer.Exit(FAILED)


def _show(report: Replayed) -> None:
    other_code = "" if report.same_code else f"; it was recorded by other code, on Python {report.python}"
    difference = report.difference
    if difference is not None:
        typer.echo(
            f"error: event {difference.event} ({difference.kind} at {difference.at_s:.6f} s), effect "
            f"{difference.effect}: recorded {difference.expected}; seen {difference.seen}{other_code}",
            err=True,
        )
        return
    end = ""
    if report.has_grown:
        end = "; it is still being recorded: what came since the replay began is left out"
    elif report.cut_bytes:
        end = f"; the last {report.cut_bytes} bytes are an event cut short"
    print(
        f"{counted(report.events, 'event')} and {counted(report.effects, 'effect')} of {report.address} in "
        f"{report.recorded_s:.1f} s are as recorded{end}{other_code}"
    )
