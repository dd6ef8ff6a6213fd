"""What ZooKeeper holds of a zone: who leads it since which epoch, and who stands for election.

The state is JSON, for people who look at it with a ZooKeeper shell. A candidate is one ephemeral node, named
`<broker>-<sequence>`; ZooKeeper counts the sequence with 32 bits, so that it may be negative.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from broker.errors import DamagedState
from chord.errors import LocalProtocolError
from chord.limits import MAX_ADDRESS
from chord.messages import Count
from chord.wire import BAD_INPUT

MAX_BROKER = 64
"""Characters of a broker's id."""

MAX_IN_SYNC = 128
"""Brokers in sync in one zone."""

MAX_STATE_BYTES = 64 * 1024

BrokerId = Annotated[str, Meta(min_length=1, max_length=MAX_BROKER)]

_SEQUENCES = 1 << 32
_CANDIDATE = re.compile(rf"([0-9a-z]{{1,{MAX_BROKER}}})-(-?\d{{9,10}})", re.ASCII)


class ZoneState(Struct, frozen=True):
    """Who leads a zone, where, since which epoch, and which brokers, the leader among them, hold what it holds."""

    leader: Annotated[str, Meta(max_length=MAX_BROKER)]
    address: Annotated[str, Meta(max_length=MAX_ADDRESS)]
    epoch: Count
    in_sync: Annotated[tuple[BrokerId, ...], Meta(max_length=MAX_IN_SYNC)]


class Candidate(Struct, frozen=True):
    """One broker that stands for election, by the name of its node."""

    broker: str
    node: str
    sequence: int


class Term(Struct, frozen=True):
    """What a broker is told. Epoch 0: nobody was ever elected.

    `live` are the brokers with an election node. Not `clean`, which the leader alone is told: it was elected though it
    was not in sync, so what only others held is gone.
    """

    epoch: int
    leader: str
    address: str
    in_sync: frozenset[str]
    live: frozenset[str]
    clean: bool = True


_decode = msgspec.json.Decoder(ZoneState).decode


def encode_state(state: ZoneState) -> bytes:
    """The state as its znode holds it. Raises LocalProtocolError for one that nobody could read."""
    data = msgspec.json.encode(state)
    try:
        decode_state(data)
    except DamagedState:
        raise LocalProtocolError(f"{state} exceeds the limits of a zone's state") from None
    return data


def decode_state(data: bytes, path: str = "the zone's state") -> ZoneState:
    """The state that a znode holds. Raises DamagedState, which names `path`."""
    if len(data) > MAX_STATE_BYTES:
        raise DamagedState(_damaged(path, f"{len(data)} bytes, more than {MAX_STATE_BYTES}"))
    try:
        return _decode(data)
    except BAD_INPUT as error:
        raise DamagedState(_damaged(path, f"{error}; it begins {data[:40]!r}")) from None


def _damaged(path: str, seen: str) -> str:
    return f"znode {path} does not hold the state of a zone ({seen}); delete it, and the brokers elect a primary anew"


def parse_candidates(nodes: Iterable[str]) -> list[Candidate]:
    """The candidates by the names of their nodes, first come first; a node with any other name is none."""
    matches = filter(None, map(_CANDIDATE.fullmatch, nodes))
    return in_order(Candidate(match[1], match[0], int(match[2])) for match in matches)


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates, first come first. Sequences run in a circle: the first is the one after the widest gap."""
    ordered = sorted(candidates, key=lambda each: (each.sequence % _SEQUENCES, each.node))
    if not ordered:
        return []
    numbers = [each.sequence % _SEQUENCES for each in ordered]
    gaps = [(number - numbers[position - 1]) % _SEQUENCES for position, number in enumerate(numbers)]
    first = gaps.index(max(gaps))
    return ordered[first:] + ordered[:first]


def term_of(state: ZoneState | None, candidates: Iterable[Candidate], clean: bool) -> Term:
    """What to tell a broker of what was read."""
    live = frozenset(each.broker for each in candidates)
    if state is None:
        return Term(0, "", "", frozenset(), live)
    return Term(state.epoch, state.leader, state.address, frozenset(state.in_sync), live, clean)
