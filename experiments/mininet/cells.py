"""The cells that the options of `python -m experiments mininet` ask for, and the faults as one types them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import product
from typing import cast, get_args

from chord.errors import LocalProtocolError
from experiments.mininet.layout import MOST_HOSTS, lay_out, tree_size
from experiments.mininet.seats import seat
from experiments.sweep.cells import Cell, Dissemination, Fault, FaultKind, Mode

DEFAULT_HOSTS = 16
DEFAULT_LOOKUPS = 2000
MODES = get_args(Mode)
_FAULT = re.compile(r"(?P<kind>[a-z_-]+)(?::(?P<target>[^@]*))?@(?P<at>\d+(?:\.\d+)?)s?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """As on the command line."""

    hosts: int | None
    topology: str
    lookups: int | None
    mode: str
    dissemination: tuple[str, ...]
    publishers: tuple[int, ...]
    subscribers: tuple[int, ...]
    samples: int
    rate: float
    payload_bytes: int
    zones: int
    replicas: int
    vnodes: int
    successors: int
    bw_mbit: float | None
    delay_ms: float | None
    faults: tuple[Fault, ...]
    capture: bool
    seed: int


def cells(options: Options) -> list[Cell]:
    """One cell for each dissemination and number of clients; one of lookups alone without.

    As many ring nodes are in all of them: what is left of the hosts where most are taken. Raises LocalProtocolError.
    """
    if options.mode not in MODES:
        raise LocalProtocolError(f"--mode is {' or '.join(MODES)}, not {options.mode!r}")
    for each in options.dissemination:
        if each not in get_args(Dissemination):
            raise LocalProtocolError(f"--dissemination is direct, brokered, or both with a comma, not {each!r}")
    if options.capture and not options.dissemination:
        raise LocalProtocolError("--capture needs samples on the wire: say --dissemination direct,brokered")
    hosts = _hosts(options)
    lookups = options.lookups if options.lookups is not None else 0 if options.dissemination else DEFAULT_LOOKUPS
    planned = [
        _cell(options, cast(Dissemination, each), publishers, subscribers, lookups)
        for (publishers, subscribers), each in product(_numbers(options), options.dissemination)
    ] or [_cell(options, None, 0, 0, lookups)]
    others = max(seat(cell).count - cell.nodes for cell in planned)
    if hosts - others < 1:
        raise LocalProtocolError(f"{others} hosts are taken by brokers and clients; {hosts} leave none for a ring node")
    topology = options.topology
    if topology.partition(",")[0] == "tree":
        topology = "tree,depth={},fanout={}".format(*tree_size(topology, hosts))
    lay_out(topology, hosts)
    return [replace(cell, nodes=hosts - others, topology=topology) for cell in planned]


def parse_fault(text: str) -> Fault:
    """`KIND:TARGET@SECONDS`, like kill:node:3@5 or link_down:link:s1-h4@8. Raises LocalProtocolError."""
    match = _FAULT.fullmatch(text)
    kind = match["kind"].replace("-", "_") if match else ""
    if match is None or kind not in get_args(FaultKind):
        kinds = ", ".join(get_args(FaultKind))
        raise LocalProtocolError(
            f"{text!r} is no fault: KIND:TARGET@SECONDS, like kill:node:3@5; KIND is one of {kinds}"
        )
    return Fault(kind=cast(FaultKind, kind), at_s=float(match["at"]), target=match["target"] or "")


def parse_numbers(option: str, text: str) -> tuple[int, ...]:
    """Numbers of clients with commas between them, from 1 on. Raises LocalProtocolError."""
    words = [each.strip() for each in text.split(",")]
    if not all(each.isdigit() and 1 <= int(each) <= MOST_HOSTS for each in words):
        raise LocalProtocolError(f"{option} takes numbers from 1 to {MOST_HOSTS} with commas between, not {text!r}")
    return tuple(map(int, words))


def _hosts(options: Options) -> int:
    """As said; else as many as a tree that is said has room for, else 16."""
    if options.hosts is not None:
        return options.hosts
    if "fanout=" in options.topology:
        depth, fanout = tree_size(options.topology, None)
        return int(fanout**depth)
    return DEFAULT_HOSTS


def _numbers(options: Options) -> list[tuple[int, int]]:
    """Publishers and subscribers that grow together; where one of the two is one number, it stays."""
    first, second = options.publishers, options.subscribers
    if len(first) == 1:
        first = first * len(second)
    if len(second) == 1:
        second = second * len(first)
    if len(first) != len(second):
        raise LocalProtocolError(
            f"--publishers and --subscribers are as many numbers, or one: {len(first)} and {len(second)} do not pair"
        )
    return list(zip(first, second, strict=True))


def _cell(
    options: Options, dissemination: Dissemination | None, publishers: int, subscribers: int, lookups: int
) -> Cell:
    name = f"{dissemination}-{publishers:03}-{subscribers:03}" if dissemination else "lookups"
    return Cell(
        name=name,
        place="mininet",
        nodes=1,
        vnodes=options.vnodes,
        successors=options.successors,
        mode=cast(Mode, options.mode),
        dissemination=dissemination,
        publishers=publishers,
        subscribers=subscribers,
        lookups=lookups,
        payload_bytes=options.payload_bytes,
        samples=options.samples,
        rate=options.rate,
        bw_mbit=options.bw_mbit,
        delay_ms=options.delay_ms,
        capture=options.capture,
        faults=options.faults,
        seed=options.seed,
        zones=options.zones,
        replicas=options.replicas,
    )
