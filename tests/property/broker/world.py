"""Zones in memory: brokers, publishers and subscribers, the links between them, a ring and ZooKeeper, on one clock."""

from __future__ import annotations

from broker.place import Place
from chord.messages import Entry
from tests.property.broker.describing import describe
from tests.property.broker.fake_brokers import FakeBroker
from tests.property.broker.fake_publisher import TOPIC, FakePublisher
from tests.property.broker.fake_ring import FakeRing
from tests.property.broker.fake_subscriber import FakeSubscriber
from tests.property.broker.fake_zookeeper import FakeZooKeeper
from tests.property.broker.links import Link, Links

STEP_S = 0.02
AT_ONCE = 64
"""Messages that pass each link in one step, at most."""

WORKS_FOR_S = 5.0
"""Readers are given up after a while, which loses samples by design: so a connection works this long in between."""


class World:
    """Everything, and what can happen to it. What holds at every moment is asserted in `check`."""

    def __init__(self, zones: dict[str, int], session_s: float = 2.0) -> None:
        self.now = 0.0
        self.traffic = False
        self.links = Links()
        self.ring = FakeRing(lambda: self.now, self._told)
        self.zookeepers = {zone: FakeZooKeeper(session_s) for zone in zones}
        self.brokers: dict[str, FakeBroker] = {}
        self.gone: list[FakeBroker] = []
        self.publishers: list[FakePublisher] = []
        self.flushed: dict[int, int] = {}
        self.subscribers: list[FakeSubscriber] = []
        self.left: list[FakeSubscriber] = []
        self.early: set[tuple[str, int]] = set()
        self._numbers = 0
        for zone, count in zones.items():
            for _ in range(count):
                self.start_broker(zone)

    # What there is -------------------------------------------------------------------------------------------------

    def start_broker(self, zone: str, address: str = "") -> FakeBroker:
        """A new process, at an address of its own or at that of one that crashed."""
        number = self._number()
        place = Place(f"{number:016x}", address or f"broker{number}:1", zone)
        made = FakeBroker(place, self.links, self.ring, self.zookeepers[zone], self.now)
        self.brokers[made.name] = made
        return made

    def start_publisher(self, zone: str, history: int = 0) -> FakePublisher:
        """A publisher of the topic."""
        made = FakePublisher(self._number(), zone, self.links, self.ring, history, self.now)
        self.publishers.append(made)
        self.early.update((each.name, made.producer) for each in self.subscribers if each.registered)
        return made

    def start_subscriber(self, zone: str, history: int = 0) -> FakeSubscriber:
        """A subscriber of the topic."""
        self.subscribers.append(FakeSubscriber(self._number(), zone, self.links, self.ring, history, self.now))
        return self.subscribers[-1]

    def free_address(self, zone: str) -> str:
        """Where a broker of a zone crashed and none was started since; or empty."""
        places = [broker.place for broker in self.gone]
        free = (each.address for each in places if each.zone == zone and each.address not in self.links.servers)
        return next(free, "")

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    # What happens --------------------------------------------------------------------------------------------------

    def may_crash(self, broker: FakeBroker) -> bool:
        """Whether somebody in sync is left."""
        state = self.zookeepers[broker.place.zone].state
        return state is not None and any(each in self.brokers for each in state.in_sync if each != broker.name)

    def crash(self, broker: FakeBroker) -> None:
        """kill -9."""
        del self.brokers[broker.name]
        self.links.end(broker, broker.place.address)
        self.gone.append(broker)

    def crash_publisher(self, publisher: FakePublisher) -> None:
        """kill -9; what it could have flushed is to arrive all the same."""
        self.flushed[publisher.producer] = publisher.writer.delivered
        self.publishers.remove(publisher)
        self.links.end(publisher, publisher.address)

    def leave(self, subscriber: FakeSubscriber) -> None:
        """A subscriber closes; its process lives until its entries are off the ring."""
        subscriber.leave()
        self.subscribers.remove(subscriber)
        self.left.append(subscriber)

    def trouble(self, link: Link, hold_s: float) -> None:
        """Have a connection break, or nothing pass over it for a while, if it has worked for long enough."""
        if self.now < link.works_until:
            return
        link.works_until = self.now + hold_s + WORKS_FOR_S
        if hold_s:
            link.held_until = self.now + hold_s
        else:
            self.links.break_off(link)

    def run(self, for_s: float) -> None:
        """Let time pass."""
        until = self.now + for_s - STEP_S / 2
        while self.now < until:
            self.now = round(self.now + STEP_S, 6)
            self.ring.expire()
            if self.traffic:
                for publisher in self.publishers:
                    publisher.publish(1)
            for broker in (*self.brokers.values(), *self.gone):
                broker.authority.expire(self.now)
            for process in (*self.brokers.values(), *self.publishers, *self.subscribers, *self.left):
                process.kernel.now = self.now
                if process.awake:
                    process.work(self.now)
            for link in list(self.links.links.values()):
                if link.held_until <= self.now:
                    self._pass_on(link)
            self.check()

    def _pass_on(self, link: Link) -> None:
        for _ in range(AT_ONCE):
            if not self.links.pass_on(link):
                return

    def heal(self) -> None:
        """Nothing is published, held, stopped or cut off any more."""
        self.traffic = False
        self.ring.down = False
        for link in self.links.links.values():
            link.held_until = 0.0
        for broker in self.brokers.values():
            broker.awake = True
            broker.authority.connected = True

    def _told(self, notify: str, entry: Entry) -> None:
        for broker in self.brokers.values():
            if broker.notify == notify and broker.awake:
                broker.replica.on_the_ring.on_changed(entry)
        for subscriber in self.subscribers:
            if subscriber.notify == notify:
                subscriber.on_changed(entry)

    # What holds ----------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Samples come in order and once; what a publisher forgot, every broker in sync has."""
        for subscriber in self.subscribers:
            for producer, had in subscriber.had.items():
                assert not had or had[-1] - had[0] + 1 == len(had), f"{subscriber.name} had {had}"
                assert not had or had[0] == 1 or (subscriber.name, producer) not in self.early, f"{had} are not all"
        leaders: dict[tuple[str, int], str] = {}
        for broker in self.brokers.values():
            if broker.leads:
                key = broker.place.zone, broker.leads
                assert leaders.setdefault(key, broker.name) == broker.name
        for publisher in self.publishers:
            self._check_kept(publisher)

    def _check_kept(self, publisher: FakePublisher) -> None:
        state = self.zookeepers[publisher.zone].state
        for name in state.in_sync if state is not None else ():
            if name in self.brokers:
                has = self.brokers[name].next_of(TOPIC, publisher.producer)
                kept = publisher.writer.log.first_sequence
                assert kept <= has, f"{publisher.name} forgot what comes before {kept}, {name} has what is before {has}"

    def is_settled(self) -> bool:
        """Whether everything published has come, and every broker is in sync."""
        for zone, zookeeper in self.zookeepers.items():
            live = {broker.name for broker in self.brokers.values() if broker.place.zone == zone}
            if zookeeper.state is None or set(zookeeper.state.in_sync) != live:
                return False
        for subscriber in self.subscribers:
            for producer, flushed in self.flushed.items():
                if (subscriber.name, producer) in self.early and flushed > max(subscriber.had.get(producer) or [0]):
                    return False
        for publisher in self.publishers:
            if publisher.writer.delivered != publisher.newest:
                return False
            for subscriber in self.subscribers:
                had = subscriber.had.get(publisher.producer)
                if had is None or (publisher.newest and subscriber.subscriptions[publisher.producer].next is None):
                    return False
                if subscriber.subscriptions[publisher.producer].next != publisher.newest + 1:
                    return False
        return True

    def converge(self, within_s: float) -> None:
        """Heal, and require that everything comes right."""
        self.heal()
        deadline = self.now + within_s
        while not self.is_settled():
            assert self.now < deadline, describe(self)
            self.run(0.1)
