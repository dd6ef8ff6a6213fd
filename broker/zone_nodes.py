"""The znodes of a zone, as one broker reads and writes them: one session, one election node, one state.

    /ringcast/<cluster>/zones/<zone>/state
    /ringcast/<cluster>/zones/<zone>/election/<broker>-<sequence>     ephemeral

Every call blocks for one session at the most, so all belong on one thread of the broker's own; kazoo's threads only
call `wake`. A call that ended with ZooKeeperUnreachable may have been carried out: read again, and see.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NodeExistsError,
    NoNodeError,
    OperationTimeoutError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
    SessionMovedError,
    WriterNotClosedException,
)
from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler

from broker.errors import ZooKeeperRefused, ZooKeeperUnreachable
from broker.zone_state import Candidate, ZoneState, decode_state, encode_state, parse_candidates
from chord.errors import LocalProtocolError

logging.getLogger("kazoo").addHandler(logging.NullHandler())  # without it, warnings go to the terminal

RECONNECT = {"max_tries": -1, "delay": 0.05, "backoff": 2, "max_delay": 1.0}
OUTRUN = (BadVersionError, NodeExistsError, NoNodeError, RolledBackError, RuntimeInconsistency)
AWAY = (
    ConnectionClosedError,
    ConnectionLoss,
    KazooTimeoutError,
    OperationTimeoutError,
    SessionExpiredError,
    SessionMovedError,
)


class View(NamedTuple):
    """One full read of a zone: its state with the version of its znode, who stands, and our own election node."""

    state: ZoneState | None
    version: int
    candidates: list[Candidate]
    own: str


class ZoneNodes:
    """One broker's access to its zone. `wake` is called, from threads of kazoo, when something may have changed.

    Raises LocalProtocolError when `hosts` cannot be read.
    """

    def __init__(
        self, hosts: str, cluster: str, zone: str, broker: str, session_s: float, wake: Callable[[], None]
    ) -> None:
        self.hosts = hosts
        base = f"/ringcast/{_segment(cluster)}/zones/{_segment(zone)}"
        self.state_path = f"{base}/state"
        self.election_path = f"{base}/election"
        self._prefix = f"{broker}-"
        self._session_s = session_s
        self._own = (0, "")
        self._wake = wake
        try:
            self.client = KazooClient(
                hosts, timeout=session_s, handler=SequentialThreadingHandler(), connection_retry=dict(RECONNECT)
            )
        except ValueError as error:
            raise LocalProtocolError(f"ZooKeeper at {hosts!r}: {error}; HOST:PORT[,HOST:PORT...] is expected") from None
        self.client.add_listener(lambda _state: wake())

    def connect(self, patience_s: float) -> None:
        """Begin a session. Raises ZooKeeperUnreachable."""
        self.client.start_async().wait(patience_s)
        if not self.connected:
            self.close(1.0)
            raise ZooKeeperUnreachable(
                f"ZooKeeper at {self.hosts} did not answer within {patience_s:.1f} s; is it running there? "
                "`ringcast up` brings its own"
            )

    @property
    def connected(self) -> bool:
        """Whether there is a session, as far as is known; for up to two thirds of one nobody knows."""
        return bool(self.client.connected)

    def read(self) -> View:
        """Register if we are not, and read everything, with watches on all of it.

        Raises ZooKeeperUnreachable, ZooKeeperRefused, DamagedState.
        """
        with self._errors("read"):
            children = self._children()
            own = self._own_of(children)
            if not own:
                created = self.client.create_async(
                    f"{self.election_path}/{self._prefix}", ephemeral=True, sequence=True
                )
                own = str(self._get(created)).rpartition("/")[2]
                children = self._children()
            self._own = (self._session, own)
            data, version = self._state()
        state = decode_state(data, self.state_path) if version >= 0 else None
        return View(state, version, parse_candidates(children), own)

    def write(self, view: View, state: ZoneState) -> bool:
        """Replace the state that was read, if it is still that and our election node lives; whether it was done.

        Raises ZooKeeperUnreachable, ZooKeeperRefused.
        """
        data = encode_state(state)
        with self._errors("write"):
            transaction = self.client.transaction()
            transaction.check(f"{self.election_path}/{view.own}", 0)
            if view.version < 0:
                transaction.create(self.state_path, data)
            else:
                transaction.set_data(self.state_path, data, view.version)
            results = self._get(transaction.commit_async())
            failed = [each for each in results if isinstance(each, KazooException)]
            for each in failed:
                if not isinstance(each, OUTRUN):
                    raise each
        return not failed

    def close(self, timeout_s: float) -> bool:
        """End the session, so that our election node goes at once; whether ZooKeeper confirmed it in time."""
        closing = threading.Thread(target=self._close, name="zookeeper-close", daemon=True)
        closing.start()
        closing.join(timeout_s)
        return not closing.is_alive()

    def _close(self) -> None:
        try:
            self.client.stop()
        except WriterNotClosedException:
            return  # somebody who does not answer holds the connection still; it ends with this process
        self.client.close()

    def _children(self) -> list[str]:
        """The election nodes. Parents that are missing, or were deleted, are made."""
        while True:
            try:
                return list(self._get(self.client.get_children_async(self.election_path, watch=self._changed)))
            except NoNodeError:
                self._get(self.client.ensure_path_async(self.election_path))

    def _own_of(self, children: list[str]) -> str:
        """Our election node of this session, should there be one: the reply to its creation may have been lost."""
        if self._own[0] == self._session and self._own[1] in children:
            return self._own[1]
        for child in filter(lambda child: child.startswith(self._prefix), children):
            stat = self._get(self.client.exists_async(f"{self.election_path}/{child}"))
            if stat is not None and stat.ephemeralOwner == self._session:
                return child
        return ""

    def _state(self) -> tuple[bytes, int]:
        """What the state's znode holds, and its version; -1 if there is none."""
        while True:
            try:
                data, stat = self._get(self.client.get_async(self.state_path, watch=self._changed))
                return data, stat.version
            except NoNodeError:
                if self._get(self.client.exists_async(self.state_path, watch=self._changed)) is None:
                    return b"", -1

    @property
    def _session(self) -> int:
        """Raises ConnectionLoss while there is none."""
        known = self.client.client_id
        if known is None:
            raise ConnectionLoss
        return int(known[0])

    def _get(self, promised: Any) -> Any:
        return promised.get(timeout=max(self._session_s, 1.0))

    def _changed(self, _event: object) -> None:
        self._wake()

    @contextmanager
    def _errors(self, what: str) -> Any:
        try:
            yield
        except AWAY as error:
            raise ZooKeeperUnreachable(f"ZooKeeper at {self.hosts} did not answer ({type(error).__name__})") from None
        except KazooException as error:
            said = f"{type(error).__name__} {error}".strip()
            raise ZooKeeperRefused(f"ZooKeeper at {self.hosts} lets us not {what} {self.state_path}: {said}") from None


def _segment(name: str) -> str:
    """A name as one segment of a path: whatever else it holds, no slash, and it is neither . nor .."""
    quoted = quote(name, safe="")
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")
