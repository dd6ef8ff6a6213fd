"""Who may lead a zone, decided on one view of it; what makes it safe is the compare-and-set that carries it out.

A leader stays for as long as its election node does. When that is gone, the first of those in sync campaigns, and no
other does; only when nobody in sync stands for election, the first of all (KIP-966: an unclean election, which loses
what only the others held).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from broker.zone_state import Candidate, ZoneState, in_order


class Contender(NamedTuple):
    """The broker that decides: its id, and the address that it would be found at."""

    broker: str
    address: str


class Lead(NamedTuple):
    """We lead, and stay."""


class Follow(NamedTuple):
    """The leader lives, and is another."""


class Campaign(NamedTuple):
    """It is ours to write `state`, compared and set. Not `clean`: nobody who was in sync lives, so data is lost."""

    state: ZoneState
    clean: bool


class Wait(NamedTuple):
    """It is for another to campaign, or nobody may yet."""


Decision = Lead | Follow | Campaign | Wait


def decide(
    me: Contender,
    candidates: Iterable[Candidate],
    state: ZoneState | None,
    suspected: frozenset[str] = frozenset(),
) -> Decision:
    """What to do about a zone whose `state` and `candidates` were read; None: nobody was ever elected.

    Brokers in `suspected` count as dead, but only somebody in sync takes over from a leader that is merely suspected.
    """
    standing = in_order(candidates)
    registered = {each.broker for each in standing}
    order = [each.broker for each in standing if each.broker == me.broker or each.broker not in suspected]
    live = frozenset(order)
    if state is not None and state.leader in live:
        return Lead() if state.leader == me.broker else Follow()
    if me.broker not in live:
        return Wait()
    if state is None:
        return _campaign(me, 1, (), True) if order[0] == me.broker else Wait()
    in_sync = [broker for broker in order if broker in state.in_sync]
    if in_sync:
        return _campaign(me, state.epoch + 1, in_sync, True) if in_sync[0] == me.broker else Wait()
    if order[0] != me.broker or not registered.isdisjoint(state.in_sync):
        return Wait()
    return _campaign(me, state.epoch + 1, (), not state.in_sync)


def _campaign(me: Contender, epoch: int, in_sync: Iterable[str], clean: bool) -> Campaign:
    return Campaign(ZoneState(me.broker, me.address, epoch, tuple(sorted({me.broker, *in_sync}))), clean)


def prevailing(read: ZoneState | None, known: ZoneState | None) -> ZoneState | None:
    """What to go on from: what was read, unless a later epoch is known.

    Then ZooKeeper lost the state, or somebody deleted it. Nobody leads, but the epoch goes on, and so does who was in
    sync, so that epochs never fall while one broker lives that knows them.
    """
    if known is None or (read is not None and read.epoch >= known.epoch):
        return read
    return ZoneState("", "", known.epoch, known.in_sync)
