"""Operations carried out at once, on a ring that stands still: every call is answered in no time.

No frame is encoded and no time passes: this is for counting what production code does, not for how long it takes. Who
is dead says nothing, which costs a call its time-out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

from chord.effects import Call, Operation
from chord.errors import NotMember, PeerUnreachable, RingcastError
from chord.host import Host
from chord.limits import PROTOCOL_VERSION
from chord.messages import ReplyBody, Request
from chord.round_trips import RoundTrips

R = TypeVar("R")


class Asker:
    """Who asks: a process that has measured no round trips yet, and suspects nobody."""

    def __init__(self) -> None:
        self.now = 0.0
        self.round_trips = RoundTrips()


class AtOnce:
    """Processes by address. Whoever is not among them is dead; `unanswered` counts calls to the dead by request."""

    def __init__(self, hosts: Iterable[Host]) -> None:
        self.unanswered: Counter[type] = Counter()
        self._hosts = {host.kernel.address: host for host in hosts}

    def finish(self, operation: Operation[R]) -> R:
        """Run an operation that does nothing but call to its end; returns its result or raises its error."""
        answer: ReplyBody | None = None
        error: RingcastError | None = None
        while True:
            try:
                effect = operation.send(answer) if error is None else operation.throw(error)
            except StopIteration as stop:
                result: R = stop.value
                return result
            assert type(effect) is Call, f"{effect} is not a call"
            try:
                answer, error = self._answer(effect), None
            except RingcastError as refusal:
                error = refusal

    def _answer(self, call: Call) -> ReplyBody:
        to = call.to
        host = self._hosts.get(to.address)
        if host is None:
            self.unanswered[type(call.request)] += 1
            raise PeerUnreachable(f"no reply from {to.address}")
        answer = host.serve(Request(PROTOCOL_VERSION, host.settings.cluster, 1, call.request, (to.id, to.incarnation)))
        if answer is None or hasattr(answer, "send"):
            raise NotMember(f"{to} does not answer {type(call.request).__name__} at once")
        return answer
