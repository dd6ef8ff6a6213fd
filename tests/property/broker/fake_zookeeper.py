"""A zone's nodes in ZooKeeper, and what a broker does about them; who may lead is decided by production code."""

from __future__ import annotations

from collections.abc import Callable

from broker.authority import Campaign, Contender, decide, prevailing
from broker.zone_state import Candidate, Term, ZoneState, term_of

SUSPECTED_S = 5.0


class FakeZooKeeper:
    """The state of one zone with its version, and an election node for every broker that has a session."""

    def __init__(self, session_s: float) -> None:
        self.session_s = session_s
        self.state: ZoneState | None = None
        self.version = 0
        self.candidates: dict[str, Candidate] = {}
        self.leaders: dict[int, str] = {}
        self._sequence = 0

    def stand(self, broker: str) -> None:
        """Stand for election."""
        self._sequence += 1
        self.candidates[broker] = Candidate(broker, f"{broker}-{self._sequence:010d}", self._sequence)

    def write(self, broker: str, state: ZoneState, version: int) -> None:
        """Compare and set, if the broker's election node is there."""
        if broker not in self.candidates or version != self.version:
            return
        if self.state is None or state.epoch != self.state.epoch:
            assert state.epoch not in self.leaders, f"epoch {state.epoch}: {self.leaders} and {state.leader}"
            self.leaders[state.epoch] = state.leader
        self.state = state
        self.version += 1


class FakeAuthority:
    """One broker's part in the elections, in the steps of broker/zookeeper.py: look and decide, write, tell."""

    def __init__(self, zookeeper: FakeZooKeeper, me: Contender, on_term: Callable[[Term], None]) -> None:
        self.connected = True
        self._zookeeper = zookeeper
        self._me = me
        self._on_term = on_term
        self._known: ZoneState | None = None
        self._told: Term | None = None
        self._proposal: tuple[int, frozenset[str]] | None = None
        self._write: tuple[ZoneState, int] | None = None
        self._suspected: dict[str, float] = {}
        self._heard_at = 0.0

    def propose(self, epoch: int, in_sync: frozenset[str]) -> None:
        """Have these be in sync."""
        self._proposal = epoch, in_sync | {self._me.broker}

    def suspect(self, broker: str, now: float) -> None:
        """Nobody listens at a broker's address."""
        self._suspected[broker] = now + SUSPECTED_S

    def expire(self, now: float) -> None:
        """Lose the session after a while of silence."""
        if now - self._heard_at > self._zookeeper.session_s:
            self._zookeeper.candidates.pop(self._me.broker, None)

    def step(self, now: float) -> None:
        """Write what was decided the last time, or look, tell and decide."""
        if not self.connected:
            return
        self._heard_at = now
        zookeeper, me = self._zookeeper, self._me.broker
        if me not in zookeeper.candidates:
            zookeeper.stand(me)
        if self._write is not None:
            zookeeper.write(me, *self._write)
            self._write = None
            return
        state = self._known = prevailing(zookeeper.state, self._known)
        candidates = list(zookeeper.candidates.values())
        suspected = frozenset(each for each, until in self._suspected.items() if until > now)
        decision = decide(self._me, candidates, state, suspected)
        if isinstance(decision, Campaign):
            # An unclean election loses samples by design, so here nobody campaigns for one.
            self._write = (decision.state, zookeeper.version) if decision.clean else None
            return
        settled = self._weigh(state)
        if state is not None and state.leader:
            term = term_of(state, candidates, True)
            if term != self._told or settled:
                self._told = term
                self._on_term(term)

    def _weigh(self, state: ZoneState | None) -> bool:
        """Whether the proposal is settled; else write it next."""
        if self._proposal is None:
            return False
        epoch, in_sync = self._proposal
        ours = state is not None and (state.epoch, state.leader) == (epoch, self._me.broker)
        if state is None or not ours or frozenset(state.in_sync) == in_sync:
            self._proposal = None
            return True
        wanted = ZoneState(state.leader, state.address, epoch, tuple(sorted(in_sync)))
        self._write = wanted, self._zookeeper.version
        return False
