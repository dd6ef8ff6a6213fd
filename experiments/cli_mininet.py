"""`python -m experiments mininet`: rings, brokers and clients on the hosts of a virtual network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chord.cli_options import AsJson


def mininet(
    hosts: Annotated[
        int | None, typer.Option(help="How many in all; as many as a tree has room for, else 16.", min=1, max=256)
    ] = None,
    topology: Annotated[
        str, typer.Option(help="single, linear, or tree[,depth=D,fanout=F].", metavar="NAME")
    ] = "single",
    bw: Annotated[float | None, typer.Option(help="Of every link, each way.", metavar="MBIT")] = None,
    delay: Annotated[float | None, typer.Option(help="Of every link, each way.", metavar="MS")] = None,
    loss: Annotated[float | None, typer.Option(help="Of every link, each way.", metavar="PERCENT")] = None,
    lookups: Annotated[
        int | None,
        typer.Option(help="Random names looked up; 2000 unless samples are published.", min=0, max=10_000_000),
    ] = None,
    mode: Annotated[str, typer.Option(help="Lookups: iterative or recursive.", metavar="KIND")] = "iterative",
    dissemination: Annotated[
        str, typer.Option(help="Publish samples: direct, brokered, or direct,brokered.", metavar="KINDS")
    ] = "",
    publishers: Annotated[str, typer.Option(help="How many, with commas between.", metavar="N,N...")] = "1",
    subscribers: Annotated[str, typer.Option(help="How many; as many numbers, or one.", metavar="N,N...")] = "1",
    samples: Annotated[int, typer.Option(help="Of each publisher.", min=1, max=10_000_000)] = 100,
    rate: Annotated[float, typer.Option(help="Samples a second of each publisher.", min=0.01, max=100_000)] = 20.0,
    payload: Annotated[int, typer.Option(help="Bytes of a sample.", min=1, max=1_000_000)] = 100,
    zones: Annotated[int, typer.Option(help="Zones of brokers, if brokered.", min=1, max=16)] = 1,
    replicas: Annotated[int, typer.Option(help="Brokers of each zone.", min=1, max=9)] = 3,
    vnodes: Annotated[int, typer.Option(help="Virtual nodes of each ring node.", min=1, max=64)] = 1,
    successors: Annotated[int, typer.Option(help="Entries of each successor list.", min=2, max=128)] = 8,
    fault: Annotated[
        list[str] | None,
        typer.Option(help="KIND:TARGET@SECONDS after the work begins; repeat it for more.", metavar="FAULT"),
    ] = None,
    capture: Annotated[bool, typer.Option("--capture", help="Catch the samples on the wire with tshark.")] = False,
    seed: Annotated[int, typer.Option(help="What names and targets are drawn from.", min=0)] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Where the run goes; runs/mininet-N by default.", metavar="RUN")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ring nodes, brokers, publishers and subscribers, one on each host of a Mininet network; as root.

    Ring nodes take the hosts that are left: h1, h2, ...; then come ZooKeeper, the brokers, the publishers, the
    subscribers. With several numbers of clients, and with both disseminations, each is a network of its own, and the
    ring of all is as large as the one with the most brokers and clients leaves room for. Whatever happens, nothing of
    them is left behind, and what there was is counted.

    FAULT: kill, stop or cont with node:3, broker:0, publisher:0, subscriber:0 (from 0), host:7, node:* (drawn) or
    primary; link_down or link_up with link:s1-h4, or one of those; split:0.5, heal.

    \b
    Examples:
      python -m experiments mininet --hosts 16 --topology tree
      python -m experiments mininet --hosts 16 --fault kill:node:5@4
      python -m experiments mininet --dissemination direct --capture
      python -m experiments mininet --hosts 24 --dissemination direct,brokered

    Exit codes: 0 done and nothing left, 1 failed, 2 usage, or what this machine or its kernel cannot do,
    130 interrupted.
    """
    from experiments.mininet.cells import Options, cells, parse_fault, parse_numbers
    from experiments.mininet.session import run
    from experiments.mininet.told import as_text
    from experiments.report.terminal import progress_bar

    options = Options(
        hosts=hosts,
        topology=topology,
        lookups=lookups,
        mode=mode,
        dissemination=tuple(each.strip() for each in dissemination.split(",") if each.strip()),
        publishers=parse_numbers("--publishers", publishers),
        subscribers=parse_numbers("--subscribers", subscribers),
        samples=samples,
        rate=rate,
        payload_bytes=payload,
        zones=zones,
        replicas=replicas,
        vnodes=vnodes,
        successors=successors,
        bw_mbit=bw,
        delay_ms=delay,
        faults=tuple(map(parse_fault, fault or [])),
        capture=capture,
        seed=seed,
    )
    with progress_bar() as progress:
        session = run(cells(options), out, loss, progress)
    if as_json:
        import msgspec

        typer.echo(msgspec.json.format(msgspec.json.encode(session)))
    else:
        typer.echo(as_text(session))
