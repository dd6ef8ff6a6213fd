"""A broker as a process: moves messages between its sockets, its replica and ZooKeeper, until it is told to stop."""

from __future__ import annotations

import errno
import random
import socket as tcp
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import zmq

from broker import messages
from broker.place import Place
from broker.replica import Replica
from broker.stream import Stream
from broker.zone_state import Term
from broker.zookeeper import ZooKeeperAuthority
from chord.addresses import endpoint, parse_address
from chord.effects import Operation
from chord.errors import LocalProtocolError, RemoteProtocolError
from chord.sockets import NOBLOCK, Socket, make_socket
from chord.trace import EventTrace
from pubsub.batch import Batch
from pubsub.hearing import Hearing, has_more
from pubsub.io_thread import IoThread
from pubsub.layout import MAGIC
from pubsub.messages import Subscribe
from pubsub.sending import Sending
from pubsub.zones import check_zone, find_primary

MESSAGES_AT_ONCE = 64
PROBE_S = 0.2
PROBE_EVERY_S = 0.5
IDLE_CONNECTION_S = 10.0

ZOOKEEPER_PATIENCE = 2.0
"""How much longer than for the ring is waited for ZooKeeper, which may be in the middle of an election."""


class _Connection:
    """The socket to a publisher or a primary, and when something was last said over it."""

    __slots__ = ("address", "said_at", "socket")

    def __init__(self, address: str, socket: Socket) -> None:
        self.address = address
        self.socket = socket
        self.said_at = 0.0


class BrokerProcess:
    """One `ringcast broker`: an I/O thread with every socket, and an authority with its own thread.

    `on_ready` is called in the I/O thread once the broker serves its zone, or follows its primary.
    """

    def __init__(
        self,
        zone: str,
        via: list[str],
        zookeeper: str,
        session_s: float,
        host: str = "127.0.0.1",
        port: int = 0,
        advertise: str | None = None,
        cluster: str = "ringcast",
        patience_s: float = 5.0,
        trace: Path | None = None,
        on_ready: Callable[[], None] = lambda: None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self._zone = check_zone(zone)
        self.id = f"{random.SystemRandom().getrandbits(64):016x}"
        self._io = io = IoThread(f"broker-{self.id}", via, cluster, patience_s, trace, on_warning)
        ring_router, notify, _ = io.bind_router(host, 0, advertise and parse_host(advertise))
        self._router, self.address, _ = io.bind_router(host, port, advertise)
        io.kernel.address = notify
        self.warn = io.warn
        self.ring = io.ring
        self._connections: dict[str, _Connection] = {}
        self._patience_s = patience_s
        self._on_ready = on_ready
        self._told_ready = False
        self._probed_at = 0.0
        self._is_short = False
        self.replica = Replica(Place(self.id, self.address, zone), notify, self, self._suspect, self._ready)
        self._sending = Sending(self._router)
        self._hearing: Hearing[Stream] = Hearing(
            io.name,
            io.warn,
            self._router,
            self.replica.admit,
            self.replica.mismatched,
            messages.from_reader,
            self.replica.on_other,
        )
        self._authority = ZooKeeperAuthority(
            zookeeper, cluster, zone, self.id, self.address, session_s, self._on_term, io.warn
        )
        io.changed = self.replica.on_the_ring.on_changed
        io.begin = self._begin
        io.work = self._work
        io.finish = self._finish
        self._ring_router = ring_router

    def start(self) -> None:
        """Begin. Raises what kept the ring from answering: nobody would find this broker; and ZooKeeperUnreachable."""
        self._io.start(self._ring_router)
        try:
            self._io.run(lambda ring: find_primary(ring, self._zone))
            self._io.post(self.replica.on_the_ring.start)
            self._authority.start(ZOOKEEPER_PATIENCE * self._patience_s)
        except BaseException:
            self._io.stop()
            raise

    def check(self) -> None:
        """Raise what ended one of its threads, if anything did."""
        self._io.check()
        self._authority.check()

    def stop(self) -> None:
        """Give the zone up, which lets another broker lead at once, and end."""
        self._authority.stop()
        self._io.stop()

    # What the replica asks for: broker/outside.py ------------------------------------------------------------------

    def now(self) -> float:
        """The monotonic time, in seconds."""
        return time.monotonic()

    def begin(self, operation: Operation[Any]) -> Any:
        """Begin an operation."""
        return self._io.driver.start(operation)

    def tell(self, route: bytes, message: msgspec.Struct) -> bool:
        """Tell a reader or a backup something; whether it can be reached."""
        return self._hearing.say(route, message)

    def ask(self, address: str, message: msgspec.Struct) -> None:
        """Say something to a publisher or a primary; what cannot be said now is said again by the clock."""
        connection = self._connections.get(address) or self._connect(address)
        if connection is None:
            return
        connection.said_at = time.monotonic()
        try:
            connection.socket.send(messages.encode(message), NOBLOCK)
        except zmq.Again:
            return

    def readmit(self, route: bytes, message: Subscribe) -> None:
        """A reader that had to wait asks again."""
        self._hearing.subscribe(route, message, time.monotonic())

    def touch(self, stream: Stream) -> None:
        """Send the readers of a stream what they have room for, soon."""
        self._hearing.touch(stream)

    def forget(self, stream: Stream) -> None:
        """Serve a stream no more, and tell its readers so."""
        self._hearing.forget(stream)

    def forget_all(self) -> None:
        """Serve nobody any more."""
        self._hearing.forget_all()

    def propose(self, epoch: int, in_sync: frozenset[str]) -> None:
        """Have the brokers in sync be these."""
        self._authority.propose_in_sync(epoch, in_sync)

    def look_again(self) -> None:
        """Have ZooKeeper say again who leads."""
        self._authority.look_again()

    def event(self, kind: str, detail: str) -> None:
        """Something that belongs into the traces."""
        if self._io.tracing.on:
            now_us = time.time_ns() // 1000
            self._io.tracing.append(
                EventTrace(kind=kind, node=int(self.id, 16), address=self.address, at_us=now_us, detail=detail)
            )

    # In the I/O thread ---------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._io.driver.watch(self._router.fileno(), lambda: None)

    def _work(self, now: float) -> bool:
        more = self._hearing.hear(now)
        touched = self._hearing.touched
        if touched:
            self._hearing.touched = {}
            for stream in touched.values():
                self._serve(stream)
        if self.replica.work(now):
            for stream in self.replica.streams.primed:
                self._hearing.forget_silent(stream, now)
            self._close_idle(now)
        return more

    def _serve(self, stream: Stream) -> None:
        """Send each reader what it has room for, and count what the source may forget."""
        self._sending.fill_windows(stream.writer)
        self.replica.settle_up(stream)

    def _finish(self) -> list[Operation[Any]]:
        self.replica.say_not_primary()
        return list(self.replica.on_the_ring.withdraw())

    def _ready(self) -> None:
        if not self._told_ready:
            self._told_ready = True
            self._on_ready()

    def _on_readable(self, connection: _Connection) -> None:
        receive = connection.socket.recv
        replica, address = self.replica, connection.address
        touched: dict[int, Stream] = {}
        now = time.monotonic()
        for _ in range(MESSAGES_AT_ONCE):
            try:
                frame = receive(NOBLOCK)
            except zmq.Again:
                break
            try:
                if frame and frame[0] == MAGIC:
                    stream = replica.on_batch(address, Batch(frame), now)
                    if stream is not None:
                        touched[stream.number] = stream
                else:
                    replica.on_message(address, messages.from_source(frame), now)
            except RemoteProtocolError:
                continue  # what it may have held is missed, and asked for again
            if connection.socket.closed or not has_more(connection.socket):
                break  # to look costs a tenth of being refused, and the readers are waiting
        for stream in touched.values():
            self._serve(stream)

    def _connect(self, address: str) -> _Connection | None:
        """Connect to an address; None for one that cannot be connected to: whoever is there is as good as absent."""
        try:
            target = endpoint(address)
        except LocalProtocolError:
            return None
        try:
            socket = make_socket(self._io.context, zmq.DEALER)
        except zmq.ZMQError as error:
            if not self._is_short:
                self._is_short = True
                self.warn(f"{address} cannot be read, nor any other publisher that is new: {error}; see `ulimit -n`")
            return None
        # What is said before the connection is made waits for it.
        socket.setsockopt(zmq.IMMEDIATE, 0)
        try:
            socket.connect(target)
        except zmq.ZMQError:
            socket.close(linger=0)
            return None
        connection = self._connections[address] = _Connection(address, socket)
        self._io.driver.watch(socket, lambda: self._on_readable(connection))
        return connection

    def _close_idle(self, now: float) -> None:
        """Close connections over which nothing has been said for long: what is read is acknowledged every second."""
        for address, connection in list(self._connections.items()):
            if now - connection.said_at > IDLE_CONNECTION_S:
                self._io.driver.unwatch(connection.socket)
                connection.socket.close(linger=0)
                del self._connections[address]

    # Authority -----------------------------------------------------------------------------------------------------

    def _on_term(self, term: Term) -> None:
        """Called in the authority's thread."""
        self._io.post(lambda: self.replica.on_term(term))

    def _suspect(self, broker: str, address: str) -> None:
        """The primary is silent: if nobody listens at its address, have ZooKeeper decide at once."""
        now = time.monotonic()
        if now - self._probed_at < PROBE_EVERY_S:
            return
        self._probed_at = now

        def probe() -> None:
            if refuses(address):
                self._authority.suspect(broker)

        threading.Thread(target=probe, name="ringcast probe", daemon=True).start()


def parse_host(advertise: str) -> str:
    """The host of an address that may have a port."""
    return advertise if advertise.endswith("]") or ":" not in advertise else f"{advertise.rpartition(':')[0]}"


def refuses(address: str) -> bool:
    """Whether the host of an address is there and nobody listens at its port. Takes PROBE_S, and time to resolve it."""
    try:
        with tcp.create_connection(parse_address(address), timeout=PROBE_S):
            return False
    except LocalProtocolError:
        return False  # no address, so nothing is known of who is there
    except OSError as error:
        return error.errno == errno.ECONNREFUSED
