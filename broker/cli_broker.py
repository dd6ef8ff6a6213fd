"""`ringcast broker`: one replica of a zone."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Annotated

import typer

from broker.cli_clients import Autokill
from broker.instances import divide
from broker.zookeeper import SESSION_S
from chord.cli_options import Advertise, Cluster, Host, Patience, Port, Trace, Via
from chord.errors import LocalProtocolError
from chord.sockets import raise_descriptor_limit
from pubsub.cli_options import tell, warn
from pubsub.zones import check_zone

SHORTEST_S, LONGEST_S = 1.0, 60.0

LOOK_S = 0.5
SLOW_S = 5.0
"""After this long a broker that is not ready says so."""


def _checked_session(session: float) -> float:
    if not SHORTEST_S <= session <= LONGEST_S:
        raise typer.BadParameter(f"{session:g} s is no session time-out: {SHORTEST_S:g} to {LONGEST_S:g}")
    return session


Zookeeper = Annotated[
    str | None,
    typer.Option(help="ZooKeeper servers, HOST:PORT[,HOST:PORT...].", metavar="HOSTS", envvar="RINGCAST_ZOOKEEPER"),
]
Session = Annotated[
    float,
    typer.Option(help="Seconds after which ZooKeeper takes a silent broker for dead.", callback=_checked_session),
]


def broker(
    zone: Annotated[str, typer.Option(help="The zone to serve: letters, digits, dots, dashes, underscores.")],
    via: Via = None,
    zookeeper: Zookeeper = None,
    session: Session = SESSION_S,
    autokill: Autokill = None,
    trace: Trace = None,
    host: Host = "127.0.0.1",
    port: Port = 0,
    advertise: Advertise = None,
    patience: Patience = 5.0,
    cluster: Cluster = "ringcast",
) -> None:
    """Serve a zone: as its primary if elected, else as a backup that is ready to be. Ends upon Ctrl-C or SIGTERM.

    ZooKeeper elects the primary, which puts itself on the ring, where clients find it. Three brokers a zone keep what
    publishers were told is safe when any one of them dies; one broker keeps it for as long as it lives. The line
    "ready ADDRESS zone=ZONE id=ID" on stdout says that the broker serves or follows.

    \b
    Examples:
      ringcast broker --zone zone-1 --via 127.0.0.1:5000 --zookeeper zk1:2181
      ringcast broker --zone zone-1 --zookeeper zk1:2181,zk2:2181,zk3:2181
      ringcast broker --zone zone-1 --zookeeper zk1:2181 --autokill 15
    """
    if not zookeeper:
        raise LocalProtocolError(
            "no ZooKeeper is known; name it with --zookeeper HOST:PORT or RINGCAST_ZOOKEEPER, or use `ringcast up`, "
            "which brings one"
        )
    check_zone(zone)
    raise_descriptor_limit()
    divide(1, autokill)
    course = _Course()
    from broker.process import BrokerProcess  # heavy, and nothing that the other commands have to load

    process = BrokerProcess(
        zone,
        list(via or []),
        zookeeper,
        session,
        host=host,
        port=port,
        advertise=advertise,
        cluster=cluster,
        patience_s=patience,
        trace=trace,
        on_ready=course.be_ready,
        on_warning=warn,
    )
    process.start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, course.stop)
    try:
        told = False
        slow_at = time.monotonic() + SLOW_S
        while not course.stopping:
            process.check()
            if not course.ready and time.monotonic() > slow_at:
                slow_at = float("inf")
                tell(f"still waiting to serve {zone}, or to follow its primary")
            if course.ready and not told:
                told = True
                print(f"ready {process.address} zone={zone} id={process.id}", flush=True)
            course.changed.wait(LOOK_S)
            course.changed.clear()
    finally:
        process.stop()


class _Course:
    """What happens to a broker: it becomes ready, and is told to stop."""

    def __init__(self) -> None:
        self.changed = threading.Event()
        self.ready = False
        self.stopping = False

    def be_ready(self) -> None:
        self.ready = True
        self.changed.set()

    def stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True
        self.changed.set()
