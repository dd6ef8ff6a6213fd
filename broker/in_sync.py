"""Which backups a primary waits for before its sources may forget a sample, and when that set is to change.

A backup that is in sync has every sample that was said to be safe. One is taken in when it has; it is waited for from
the moment that it follows, for it would never catch up with a primary under load otherwise. One that is gone is waited
for until ZooKeeper has taken it out, for a backup that is in the set may become primary. For the same reason everybody
is waited for who may be in the set without our knowing: who is in a proposal that is not known to be settled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from broker.outside import Outside
from broker.stream import BACKUP, Stream
from broker.zone_state import MAX_IN_SYNC, Term

SILENT_FOR_S = 3.0
"""A backup says something every half second."""

JOINING_S = 10.0
JOIN_AGAIN_S = 60.0
"""A backup that has not caught up within the first time is waited for no more until the second has gone by."""

PROPOSAL_S = 5.0
"""A proposal that was not settled within this time is made again."""


@dataclass
class Follower:
    """A backup: the route to it, since when it follows, when it was last heard, and up to which stream it was told."""

    route: bytes
    since: float
    heard_at: float
    told: int = 0


class InSync:
    """The backups of one primary in one epoch."""

    def __init__(self, me: str, term: Term, outside: Outside) -> None:
        self.followers: dict[str, Follower] = {}
        self.waited_for: frozenset[str] = frozenset()
        """The names that those read under who are waited for."""
        self._me = me
        self._term = term
        self._outside = outside
        self._proposed: frozenset[str] = frozenset()
        self._maybe: frozenset[str] = frozenset()
        self._joining: frozenset[str] = frozenset()
        self._proposed_at = float("-inf")
        self._heard_by = outside.now() + SILENT_FOR_S
        self._name()

    def on_term(self, term: Term) -> None:
        """ZooKeeper tells what holds in this epoch: a proposal is settled, or a broker came or went."""
        self._term = term
        if term.in_sync == self._proposed:
            self._maybe = frozenset()
        self._proposed_at = float("-inf")
        self._name()

    def _name(self) -> None:
        awaited = self._term.in_sync | self._maybe | self._joining
        self.waited_for = frozenset(BACKUP + broker for broker in awaited - {self._me})

    def heard(self, broker: str, route: bytes, now: float) -> Follower | None:
        """A backup follows; None when there are too many."""
        follower = self.followers.get(broker)
        if follower is None and len(self.followers) >= MAX_IN_SYNC - 1:
            return None
        if follower is None or follower.route != route:
            follower = self.followers[broker] = Follower(route, now, now)
        follower.heard_at = now
        return follower

    def stood_still(self, for_s: float, now: float) -> None:
        """This broker heard nobody for so long, which was its own doing."""
        for follower in self.followers.values():
            follower.heard_at = min(now, follower.heard_at + for_s)

    def tick(self, streams: Iterable[Stream], now: float) -> None:
        """Propose another set if another one holds."""
        for broker in [each for each, kept in self.followers.items() if now - kept.heard_at > SILENT_FOR_S]:
            del self.followers[broker]
        present = self._term.live & self.followers.keys()
        # Nobody has had the time to follow a primary that is new.
        kept = self._term.live if now < self._heard_by else present
        wanted = self._term.in_sync & (kept | {self._me}) | {self._me}
        late = present - wanted
        self._joining = frozenset(each for each in late if self._is_joining(each, now))
        if late:
            every = list(streams)
            wanted |= {broker for broker in late if all(_has_it(stream, broker) for stream in every)}
        if wanted != self._term.in_sync and now - self._proposed_at > PROPOSAL_S:
            self._proposed = wanted
            self._maybe |= wanted
            self._proposed_at = now
            self._outside.propose(self._term.epoch, wanted)
        self._name()

    def _is_joining(self, broker: str, now: float) -> bool:
        return (now - self.followers[broker].since) % JOIN_AGAIN_S < JOINING_S


def _has_it(stream: Stream, broker: str) -> bool:
    """Whether a backup has what the source of a stream was given leave to forget, by this primary or the last."""
    if stream.upstream.next is None:
        return True
    reader = stream.writer.readers.get(BACKUP + broker)
    return reader is not None and reader.received >= max(stream.upstream.safe or 0, stream.led_from)
