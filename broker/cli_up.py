"""`ringcast up`: the local stack in the foreground."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from broker.cli_broker import Session, Zookeeper
from broker.interrupts import unwind_on_signals
from broker.scratch import Scratch
from broker.stack import LocalStack, Part, Progress
from broker.zookeeper import SESSION_S, require_kazoo
from chord.cli_options import AsJson, Port, Trace
from pubsub.cli_options import tell

LOOK_S = 0.2
SHOW_S = 0.1


def up(
    nodes: Annotated[int, typer.Option(help="Nodes of the ring.", min=1, max=64)] = 8,
    zones: Annotated[int, typer.Option(help="Zones, named zone-1 and so on.", min=1, max=16)] = 2,
    replicas: Annotated[int, typer.Option(help="Brokers of each zone.", min=1, max=9)] = 3,
    zookeeper: Zookeeper = None,
    directory: Annotated[
        Path | None,
        typer.Option(help="Where the ZooKeeper that is started keeps its files.", metavar="DIR", file_okay=False),
    ] = None,
    session: Session = SESSION_S,
    trace: Trace = None,
    port: Port = 0,
    as_json: AsJson = False,
) -> None:
    """Run a ring, a ZooKeeper and the brokers of some zones on this machine, until Ctrl-C or SIGTERM.

    Everything listens on 127.0.0.1, the first node of the ring at --port. ZooKeeper's files are temporary unless
    --directory says where they go. What dies is said, and the rest goes on; all of it ends with this command. With
    --json the addresses are printed as one line of JSON once all is ready.

    \b
    Examples:
      ringcast up
      ringcast up --nodes 1 --zones 1 --replicas 1
      ringcast up --zookeeper 127.0.0.1:2181 --json | jq -r '.via[]'
    """
    unwind_on_signals()
    require_kazoo()
    with ExitStack() as closing:
        folder = directory or Path(closing.enter_context(Scratch()))
        with _shown() as show:
            stack = closing.enter_context(
                LocalStack(folder, nodes, zones, replicas, zookeeper, session, trace, port, show)
            )
        try:
            print(_as_json(stack) if as_json else _as_text(stack), flush=True)
            _watch(stack)
        except (KeyboardInterrupt, SystemExit):
            return  # as it should end


def _watch(stack: LocalStack) -> None:
    """Say what dies, each once, for ever."""
    said: set[int] = set()
    while True:
        for part in stack.parts():
            if part.process.pid not in said and part.process.poll() is not None:
                said.add(part.process.pid)
                tell(_obituary(part))
        time.sleep(LOOK_S)


def _obituary(part: Part) -> str:
    code = part.process.returncode
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    last = part.errors.read_text(errors="replace").strip().rpartition("\n")[2]
    return f"{part.name} {how}; the rest goes on" + (f". Its last word: {last}" if last and code > 0 else "")


def _as_json(stack: LocalStack) -> str:
    brokers = [
        {"zone": each.zone, "address": each.address, "id": each.id, "process": each.process.pid}
        for each in stack.brokers
    ]
    nodes = [{"address": each.address, "process": each.process.pid} for each in stack.ring.nodes]
    return json.dumps({"via": stack.via, "zookeeper": stack.zookeeper_hosts, "nodes": nodes, "brokers": brokers})


def _as_text(stack: LocalStack) -> str:
    lines = [f"{len(stack.ring.nodes)} ring nodes, ZooKeeper at {stack.zookeeper_hosts}, brokers:"]
    lines += [f"  {each.zone}  {each.address}  process {each.process.pid}" for each in stack.brokers]
    return "\n".join(
        [
            *lines,
            "",
            "In another terminal:",
            f'  export RINGCAST_VIA="{" ".join(stack.via)}"',
            "  ringcast sub flights.JFK --brokered",
            "  echo departed | ringcast pub flights.JFK --brokered --wait-subscribers 1",
            "  ringcast zones",
            "  dht lookup flights.JFK",
            "",
            "Ctrl-C ends all of it.",
        ]
    )


@contextmanager
def _shown() -> Iterator[Callable[[Progress], None]]:
    """How far the start is, on stderr if that is a terminal. It has no thread, for processes are started meanwhile."""
    from rich.console import Console  # heavy, and not needed later
    from rich.live import Live
    from rich.spinner import Spinner

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _progress: None
        return
    spinner = Spinner("dots", "starting")
    shown_at = 0.0
    with Live(spinner, console=console, auto_refresh=False, transient=True) as live:

        def show(progress: Progress) -> None:
            nonlocal shown_at
            if time.monotonic() - shown_at >= SHOW_S:
                shown_at = time.monotonic()
                spinner.update(text=str(progress))
                live.refresh()

        yield show
