"""`dht join`: run a ring node in the foreground."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from chord.cli_options import Advertise, Host, Port, Trace
from chord.identifiers import hexadecimal
from chord.limits import MAX_VNODES
from chord.messages import Neighbours
from chord.names import check_cluster
from chord.process import NodeOptions, NodeProcess
from chord.settings import Settings
from chord.sockets import raise_descriptor_limit
from chord.starting import INTERRUPTED


def join(
    host: Host = "127.0.0.1",
    port: Port = 0,
    advertise: Advertise = None,
    bootstrap: Annotated[
        list[str] | None,
        typer.Option(
            help="A node of the ring to join; repeat it for more. Without: start a new ring.",
            metavar="HOST:PORT",
            envvar="RINGCAST_BOOTSTRAP",
        ),
    ] = None,
    vnodes: Annotated[int, typer.Option(help="Virtual nodes of this process.", min=1, max=MAX_VNODES)] = 1,
    successors: Annotated[int, typer.Option(help="Entries of the successor list.", min=1, max=128)] = 8,
    replicas: Annotated[int, typer.Option(help="Processes that hold each record.", min=1, max=16)] = 3,
    stabilize: Annotated[float, typer.Option(help="Seconds between stabilizations.", min=0.01, max=3600.0)] = 0.4,
    cluster: Annotated[str, typer.Option(help="Name of the ring; nodes of other clusters are refused.")] = "ringcast",
    trace: Trace = None,
    record: Annotated[
        Path | None,
        typer.Option(help="New file of all that this node does, for `python -m sim replay`.", metavar="FILE"),
    ] = None,
) -> None:
    """Run a ring node until SIGTERM or Ctrl-C, upon which it hands its records over and leaves: exit code 0, or 130
    after Ctrl-C before the ring has taken it in.

    The first line on stdout, once the ring has taken the node in:
    ready HOST:PORT id=<16 hex digits> members=<processes in the ring>

    \b
    Examples:
      dht join --port 5000
      dht join --port 5001 --bootstrap 127.0.0.1:5000
      dht join --host 0.0.0.0 --advertise 10.0.0.2 --bootstrap 10.0.0.1:5000
      dht join --bootstrap 10.0.0.1:5000 --record node.rec
    """
    check_cluster(cluster)
    raise_descriptor_limit()
    settings = Settings(cluster=cluster, successors=successors, replicas=replicas, stabilize_s=stabilize)
    node = NodeProcess(NodeOptions(host, port, advertise, list(bootstrap or []), vnodes, trace, record, settings))
    ending: list[int] = []
    taken_in = False

    def stop(number: int, _frame: FrameType | None) -> None:
        ending.append(number)
        node.stop()

    def ready(members: list[Neighbours]) -> None:
        nonlocal taken_in
        taken_in = True
        processes = len({view.member.address for view in members})
        print(f"ready {node.address} id={hexadecimal(node.host.members[0].me.id)} members={processes}", flush=True)

    def say(text: str) -> None:
        with suppress(OSError):  # a full disk behind stderr is no reason to end
            print(text, file=sys.stderr, flush=True)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    node.run(ready, say)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # once more would end the interpreter in its last steps with an error
    if not taken_in and ending[:1] == [signal.SIGINT]:
        raise typer.Exit(INTERRUPTED)
