"""Brokers that do nothing but stand for election, here and in processes of their own, and a record of what they say."""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid
from types import TracebackType

import msgspec

from broker.embedded import EmbeddedZooKeeper
from broker.processes import end, read_line, start_program
from broker.zone_state import Term
from broker.zookeeper import ZooKeeperAuthority
from tests.waiting import eventually

PATIENCE_S = 20.0

CHILD = """
import sys
import msgspec
from broker.zookeeper import ZooKeeperAuthority
hosts, cluster, broker, session_s = sys.argv[1:]
def tell(term):
    sys.stdout.buffer.write(msgspec.json.encode(term) + b"\\n")
    sys.stdout.buffer.flush()
def warn(text):
    print(text, file=sys.stderr, flush=True)
ZooKeeperAuthority(hosts, cluster, "z", broker, broker + ":1", float(session_s), tell, warn).start(20.0)
sys.stdin.read()
"""


class Standing:
    """One broker that stands in this process; `terms` and `warnings` are what it said."""

    def __init__(self, election: Election, broker: str, session_s: float) -> None:
        self.broker = broker
        self.terms: list[Term] = []
        self.warnings: list[str] = []
        self.authority = ZooKeeperAuthority(
            election.hosts, election.cluster, "z", broker, f"{broker}:1", session_s, self._hear, self.warnings.append
        )
        self._record = election.terms

    def _hear(self, term: Term) -> None:
        self.terms.append(term)
        self._record.append((self.broker, term))

    @property
    def term(self) -> Term:
        """The last one that it was told."""
        return self.terms[-1] if self.terms else Term(0, "", "", frozenset(), frozenset())

    def start(self) -> Standing:
        self.authority.start(PATIENCE_S)
        return self

    def expects(self, timeout_s: float = PATIENCE_S, **wanted: object) -> Term:
        """Wait until its term has these values."""
        eventually(
            lambda: all(getattr(self.term, name) == value for name, value in wanted.items()),
            timeout_s,
            f"{self.broker}, told {self.term}, is told {wanted},",
        )
        return self.term


class Elsewhere:
    """One broker that stands in a process of its own, which may be killed or stopped."""

    def __init__(self, election: Election, broker: str, session_s: float) -> None:
        self.broker = broker
        self._record = election.terms
        command = [sys.executable, "-c", CHILD, election.hosts, election.cluster, broker, str(session_s)]
        self.process = start_program(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE)

    def hear(self) -> Term:
        """The next term that it is told."""
        term = msgspec.json.decode(read_line(self.process), type=Term)
        self._record.append((self.broker, term))
        return term

    def hear_until(self, **wanted: object) -> Term:
        """Read on until a term has these values."""
        term = self.hear()
        while any(getattr(term, name) != value for name, value in wanted.items()):
            term = self.hear()
        return term


class Election:
    """A zone of a cluster of its own. At the end every term that anybody was told is judged."""

    def __init__(self, server: EmbeddedZooKeeper) -> None:
        self.hosts = server.hosts
        self.cluster = uuid.uuid4().hex
        self.terms: list[tuple[str, Term]] = []
        self._here: list[Standing] = []
        self._elsewhere: list[Elsewhere] = []

    def standing(self, broker: str, session_s: float = 10.0) -> Standing:
        """One more broker, not started yet."""
        self._here.append(Standing(self, broker, session_s))
        return self._here[-1]

    def elsewhere(self, broker: str, session_s: float = 1.0) -> Elsewhere:
        """One more broker, in a process of its own."""
        self._elsewhere.append(Elsewhere(self, broker, session_s))
        return self._elsewhere[-1]

    def pair(self, session_s: float = 10.0) -> tuple[Standing, Standing]:
        """Two brokers, of whom the first leads, both in sync."""
        one, other = self.standing("aa", session_s).start(), self.standing("bb", session_s)
        one.expects(leader="aa", epoch=1)
        other.start().expects(leader="aa", epoch=1)
        one.authority.propose_in_sync(1, frozenset(["aa", "bb"]))
        for each in (one, other):
            each.expects(in_sync=frozenset(["aa", "bb"]))
        return one, other

    def judge(self) -> None:
        """No epoch had two leaders, and nobody was told of a lower epoch after a higher one."""
        leaders: dict[int, str] = {}
        last: dict[str, int] = {}
        for broker, term in self.terms:
            assert leaders.setdefault(term.epoch, term.leader) == term.leader, (
                f"two leaders in {term.epoch}: {self.terms}"
            )
            assert last.get(broker, 0) <= term.epoch, f"{broker} was told of an older epoch: {self.terms}"
            last[broker] = term.epoch

    def __enter__(self) -> Election:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stopping = [threading.Thread(target=each.authority.stop) for each in self._here]
        for thread in stopping:
            thread.start()
        for each in self._elsewhere:
            end(each.process)
        for thread in stopping:
            thread.join()
        if error is None:
            self.judge()
