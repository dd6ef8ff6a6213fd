"""Who leads a zone, as ZooKeeper decides it: one thread that reads the zone, decides, campaigns, and tells.

It is driven by levels, not by events: whatever woke it, it reads everything and decides on that, so a reply that was
lost is settled by reading again. While ZooKeeper is away the last term holds, for what keeps a deposed primary from
doing harm is its epoch.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from broker.authority import Campaign, Contender, decide, prevailing
from broker.errors import DamagedState, ZooKeeperRefused, ZooKeeperUnreachable
from broker.zone_state import MAX_IN_SYNC, Term, ZoneState, encode_state, parse_candidates, term_of
from chord.errors import LocalProtocolError

if TYPE_CHECKING:
    from broker.zone_nodes import View

SESSION_S = 6.0
"""Seconds after which ZooKeeper takes a silent broker for dead, unless it is told otherwise."""

RECONCILE_S = 30.0
"""A full read, should a watch ever have been missed."""

RETRY_S = (0.05, 1.0)
AWAY_S = 1.0
"""A connection that breaks and is made again at once is nothing to speak of."""

SUSPECTED_S = 5.0
STOP_S = 1.0


class _Proposal(NamedTuple):
    epoch: int
    in_sync: frozenset[str]


def require_kazoo() -> None:
    """Raises LocalProtocolError where brokers cannot run because kazoo is not installed."""
    if find_spec("kazoo") is None:
        raise LocalProtocolError("brokers need kazoo, which is not installed: `pip install 'ringcast[brokers]'`")


class ZooKeeperAuthority:
    """Takes part in the elections of one zone for one broker, and tells each new term through `on_term`.

    `broker` is the id of this process, new at each start, and `address` where it is found. `on_term` and `warn` are
    called on a thread of the authority's own, and have to be quick. Raises LocalProtocolError for arguments that will
    not do, and where kazoo is not installed.
    """

    def __init__(
        self,
        hosts: str,
        cluster: str,
        zone: str,
        broker: str,
        address: str,
        session_s: float,
        on_term: Callable[[Term], None],
        warn: Callable[[str], None],
    ) -> None:
        require_kazoo()
        from broker.zone_nodes import ZoneNodes

        if not parse_candidates([f"{broker}-0000000000"]):
            raise LocalProtocolError(f"broker {broker!r} is no id of a broker: lower case letters and digits")
        encode_state(ZoneState(broker, address, 1, (broker,)))
        self._me = Contender(broker, address)
        self._zone = zone
        self._session_s = session_s
        self._on_term, self._warn = on_term, warn
        self._wake = threading.Event()
        self._stopping = False
        self._nodes = ZoneNodes(hosts, cluster, zone, broker, session_s, self._wake.set)
        self._thread = threading.Thread(target=self._run, name="authority", daemon=True)
        self._lock = threading.Lock()
        self._proposal: _Proposal | None = None
        self._suspected: dict[str, float] = {}
        self._known: ZoneState | None = None
        self._told: Term | None = None
        self._unclean_epoch = 0
        self._complaining = False
        self._failure: Exception | None = None

    def start(self, patience_s: float) -> None:
        """Connect, then take part until `stop`. Raises ZooKeeperUnreachable."""
        from broker.handshake import granted_session_s

        self._nodes.connect(patience_s)
        granted_s = granted_session_s(self._nodes.client.hosts, self._session_s)
        if granted_s is not None and abs(granted_s - self._session_s) > 1e-3:
            self._warn(
                f"ZooKeeper at {self._nodes.hosts} grants sessions of {granted_s:g} s instead of {self._session_s:g} s"
            )
        self._wake.set()
        self._thread.start()

    def stop(self) -> None:
        """End the session, so that another takes over at once; no term is told afterwards. Takes 1 s at the most."""
        deadline = time.monotonic() + STOP_S
        self._stopping = True
        self._wake.set()
        self._nodes.close(STOP_S)
        if self._thread.ident is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))

    def propose_in_sync(self, epoch: int, in_sync: frozenset[str]) -> None:
        """Have these brokers, and us, be in sync, if we still lead in this epoch; a term tells when it is settled.

        A second proposal replaces one that is not settled.
        """
        if len(in_sync | {self._me.broker}) > MAX_IN_SYNC:
            raise LocalProtocolError(f"{len(in_sync)} brokers in sync are more than a zone may have, {MAX_IN_SYNC}")
        with self._lock:
            self._proposal = _Proposal(epoch, in_sync | {self._me.broker})
        self._wake.set()

    def look_again(self) -> None:
        """Read the zone again now; a term tells if something has changed."""
        self._wake.set()

    def suspect(self, broker: str) -> None:
        """Nobody listens at a broker's address: for 5 s it counts as dead."""
        with self._lock:
            self._suspected[broker] = time.monotonic() + SUSPECTED_S
        self._wake.set()

    def check(self) -> None:
        """Raise what ended the thread, if anything did."""
        if self._failure is not None:
            raise AssertionError(f"the authority of zone {self._zone} ended: {self._failure!r}") from self._failure

    def _run(self) -> None:
        try:
            self._take_part()
        except Exception as failure:  # of ours: what ZooKeeper does is handled
            self._failure = failure

    def _take_part(self) -> None:
        pause_s, retry_s, failing_since = RECONCILE_S, RETRY_S[0], math.inf
        while not self._stopping:
            self._wake.wait(pause_s)
            self._wake.clear()
            try:
                if self._stopping or not self._nodes.connected:
                    raise ZooKeeperUnreachable(f"ZooKeeper at {self._nodes.hosts} does not answer")
                self._act_on(self._nodes.read())
            except (ZooKeeperUnreachable, ZooKeeperRefused, DamagedState) as error:
                failing_since = min(failing_since, time.monotonic())
                if not isinstance(error, ZooKeeperUnreachable) or time.monotonic() - failing_since >= AWAY_S:
                    self._complain(f"{error}; zone {self._zone} goes on as it is, but elects nobody")
                pause_s, retry_s = retry_s, min(2 * retry_s, RETRY_S[1])
            else:
                self._complain("")
                pause_s, retry_s, failing_since = RECONCILE_S, RETRY_S[0], math.inf

    def _act_on(self, view: View) -> None:
        """Decide on what was read, do what follows, and read again if that was to change something."""
        state = self._known = prevailing(view.state, self._known)
        decision = decide(self._me, view.candidates, state, self._suspects())
        if isinstance(decision, Campaign):
            self._unclean_epoch = 0 if decision.clean else decision.state.epoch
            self._write(view, decision.state)
            return
        settled, wanted = self._weigh(state)
        if wanted is not None:
            self._write(view, wanted)
        if state is None or state.leader:
            self._tell(view, state, settled)

    def _write(self, view: View, state: ZoneState) -> None:
        """Whether it was done, and who was faster if not, is seen by reading again at once."""
        self._wake.set()
        self._nodes.write(view, state)

    def _weigh(self, state: ZoneState | None) -> tuple[bool, ZoneState | None]:
        """Whether the proposal is settled, one way or the other, and if not, the state that would settle it."""
        with self._lock:
            proposal = self._proposal
            if proposal is None:
                return False, None
            ours = state is not None and (state.epoch, state.leader) == (proposal.epoch, self._me.broker)
            if state is None or not ours or frozenset(state.in_sync) == proposal.in_sync:
                self._proposal = None
                return True, None
        return False, ZoneState(state.leader, state.address, state.epoch, tuple(sorted(proposal.in_sync)))

    def _tell(self, view: View, state: ZoneState | None, settled: bool) -> None:
        unclean = state is not None and state.leader == self._me.broker and state.epoch == self._unclean_epoch
        term = term_of(state, view.candidates, not unclean)
        if self._stopping or (term == self._told and not settled):
            return
        if unclean and (self._told is None or self._told.epoch < term.epoch):
            self._warn(
                f"zone {self._zone}: nobody who was in sync is left, so {self._me.broker} leads from epoch "
                f"{term.epoch} on, without what only they held"
            )
        self._told = term
        self._on_term(term)

    def _suspects(self) -> frozenset[str]:
        now = time.monotonic()
        with self._lock:
            self._suspected = {broker: until for broker, until in self._suspected.items() if until > now}
            return frozenset(self._suspected)

    def _complain(self, complaint: str) -> None:
        """Warn once of what is wrong, and once when it is right again (empty)."""
        if self._stopping or bool(complaint) == self._complaining:
            return
        self._complaining = bool(complaint)
        self._warn(complaint or f"zone {self._zone}: ZooKeeper at {self._nodes.hosts} is back")
