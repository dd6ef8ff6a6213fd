"""One ring that the network cuts in two for a while, and what clients on both sides get to hear meanwhile."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from chord.asking import Ring
from chord.errors import RingcastError
from chord.lookup import Walk
from chord.member import Member
from chord.messages import Entry, Pointer, Stored
from chord.settings import Settings
from sim import checks
from sim.cluster import Cluster
from sim.ideal import start_ideal
from sim.paper.counts import as_json
from sim.paper.figure import Result
from sim.paper.traced import Traced

SIDES = "left", "right"
OTHER = {"left": "right", "right": "left"}
RECORDS = 100
SETTLED_WITHIN_S = 15.0
"""What is under way, and copied, is there then."""

ENTRY = "e"
LEASE_S = 3_600.0
CONTACTS = 3
LOOKUP, GET, PUT, GET_OTHER = "lookup", "get", "put", "get of the other side's"
ASKED_A_SECOND = {LOOKUP: 10, GET: 5, PUT: 2, GET_OTHER: 5}
"""On each side. The last, after the healing, are of records that the other side put during the cut."""

LOOK_EVERY_S = 0.1


@dataclass
class Tally:
    """What came of the questions of one kind that were asked in one second.

    `absent`: a record that was not there, of which this side had no copy when it was cut off.
    """

    right: int = 0
    wrong: int = 0
    failed: int = 0
    absent: int = 0
    latencies_ms: Counter[int] = field(default_factory=Counter)


class Splitting:
    """A run. Second 0 begins with the cut; nothing is asked twice, so that what fails is seen."""

    def __init__(self, seed: int, nodes: int, cut_off: int, traced: Traced) -> None:
        settings = Settings()
        self.cluster = Cluster(seed, settings, keep=partial(traced.left, settings=settings))
        self.tallies: defaultdict[tuple[str, int], Tally] = defaultdict(Tally)
        self._rng = self.cluster.rng("split")
        addresses = [node.host.kernel.address for node in start_ideal(self.cluster, nodes)]
        self._rng.shuffle(addresses)
        self._addresses = dict(zip(SIDES, (addresses[cut_off:], addresses[:cut_off]), strict=True))
        self._clients = {side: self.cluster.client(side) for side in SIDES}
        self._records = [f"shared {number}" for number in range(RECORDS)]
        self._put: list[str] = []
        self._put_apart: dict[str, list[str]] = {side: [] for side in SIDES}
        self._copies: dict[str, set[str]] = {side: set(self._records) for side in SIDES}
        self._cut = False
        self._cut_at = 0.0

    def run(self, before_s: int, cut_s: int, after_s: int) -> Result:
        """Some seconds before the cut, those of the cut, and some after the healing; then all records are read."""
        cluster = self.cluster
        for name in self._records:
            self._clients["left"].ask(self._ring("left").put(name, ENTRY, name.encode(), LEASE_S))
        cluster.scheduler.run_for(SETTLED_WITHIN_S)
        self._cut_at = cluster.now + before_s
        rings = {}
        two_rings_s = one_ring_s = None
        for second in range(-before_s, cut_s + after_s):
            if second == 0:
                self._split()
            elif second == cut_s:
                self._mend()
            rings[str(second)] = count_rings(cluster.members())
            self._ask_all(second, cut_s)
            for _ in range(round(1 / LOOK_EVERY_S)):
                cluster.scheduler.run_for(LOOK_EVERY_S)
                if self._cut and two_rings_s is None and all(map(self._is_whole, SIDES)):
                    two_rings_s = cluster.now - self._cut_at
                if second >= cut_s and one_ring_s is None and cluster.has_converged():
                    one_ring_s = cluster.now - self._cut_at
        cluster.scheduler.run_for(SETTLED_WITHIN_S)
        kept = sum(self._is_kept(name) for name in (*self._records, *self._put))
        return {
            "seconds": [
                {"kind": kind, "second": second, **vars(tally), "latencies_ms": as_json(tally.latencies_ms)}
                for (kind, second), tally in sorted(self.tallies.items())
            ],
            "rings": rings,
            "heal_s": cut_s,
            "two_rings_s": two_rings_s,
            "one_ring_s": one_ring_s,
            "records": len(self._put) + RECORDS,
            "kept": kept,
        }

    # The cut --------------------------------------------------------------------------------------------------------

    def _split(self) -> None:
        """A client is cut off with its side."""
        self._cut = True
        left, right = ([side, *self._addresses[side]] for side in SIDES)
        self.cluster.network.split(left, right)
        for side in SIDES:
            self._copies[side] = {
                name
                for name in self._records
                if any(member.store.find(name, ENTRY, member.kernel.now) for member in self._members(side))
            }

    def _mend(self) -> None:
        self._cut = False
        self.cluster.network.mend()

    def _members(self, side: str) -> list[Member]:
        return [member for address in self._addresses[side] for member in self.cluster.nodes[address].host.members]

    def _is_whole(self, side: str) -> bool:
        """Whether the members of a side are an ideal ring by themselves."""
        return not checks.ideal_ring(self._members(side))

    def _owner(self, side: str, key: int) -> Pointer:
        """The owner of a key as a side can see it: among its own members during the cut, else among all."""
        return checks.right_owner(self._members(side) if self._cut else self.cluster.members(), key)

    # Asking ---------------------------------------------------------------------------------------------------------

    def _ask_all(self, second: int, heal_s: int) -> None:
        """Have the questions of one second asked, each at a random moment of it."""
        ask = {LOOKUP: self._lookup, GET: self._get, PUT: self._put_one, GET_OTHER: self._get_other}
        for side in SIDES:
            for kind, times in ASKED_A_SECOND.items():
                if kind == GET_OTHER and second < heal_s:
                    continue
                for _ in range(times):
                    when = self._cut_at + second + self._rng.random()
                    self.cluster.scheduler.at(when, partial(ask[kind], side, self.tallies[kind, second]))

    def _ring(self, side: str) -> Ring:
        """The ring as a client of one side asks it, once."""
        return self._clients[side].ring(self._rng.sample(self._addresses[side], CONTACTS), patience_s=0.0)

    def _lookup(self, side: str, tally: Tally) -> None:
        name = f"{self._rng.getrandbits(64):016x}"
        owner = self._owner(side, self.cluster.settings.space.key(name))
        lookup = self._clients[side].process.start(self._ring(side).locate(name))
        lookup.when_done(partial(self._found, side, tally, owner, self.cluster.now))

    def _found(
        self, side: str, tally: Tally, before: Pointer, asked_at: float, walk: Walk | None, error: RingcastError | None
    ) -> None:
        """Right is whoever owned the key when it was asked for, or does when the answer comes."""
        if walk is None or error is not None:
            tally.failed += 1
            return
        tally.latencies_ms[round((self.cluster.now - asked_at) * 1e3)] += 1
        if walk.owner in (before, self._owner(side, walk.key)):
            tally.right += 1
        else:
            tally.wrong += 1

    def _get(self, side: str, tally: Tally) -> None:
        self._read(side, tally, self._rng.choice(self._records))

    def _get_other(self, side: str, tally: Tally) -> None:
        self._read(side, tally, self._rng.choice(self._put_apart[OTHER[side]]))

    def _read(self, side: str, tally: Tally, name: str) -> None:
        get = self._clients[side].process.start(self._ring(side).get(name))
        get.when_done(partial(self._was_read, tally, name, name in self._copies[side]))

    def _was_read(
        self, tally: Tally, name: str, had: bool, entries: list[Entry] | None, error: RingcastError | None
    ) -> None:
        if entries is None or error is not None:
            tally.failed += 1
        elif [entry.value for entry in entries] == [name.encode()]:
            tally.right += 1
        elif not entries and not had:
            tally.absent += 1
        else:
            tally.wrong += 1

    def _put_one(self, side: str, tally: Tally) -> None:
        name = f"{side} {self._rng.getrandbits(64):016x}"
        put = self._clients[side].process.start(self._ring(side).put(name, ENTRY, name.encode(), LEASE_S))
        put.when_done(partial(self._was_put, side, tally, name))

    def _was_put(self, side: str, tally: Tally, name: str, _stored: Stored | None, error: RingcastError | None) -> None:
        if error is not None:
            tally.failed += 1
            return
        tally.right += 1
        self._put.append(name)
        if self._cut:
            self._put_apart[side].append(name)

    def _is_kept(self, name: str) -> bool:
        """Whether a record is there in the end, asked as patiently as clients do by themselves."""
        client = self._clients["left"]
        via = self._rng.sample(list(self.cluster.nodes), CONTACTS)
        try:
            entries = client.ask(client.ring(via).get(name))
        except RingcastError:
            return False
        return [entry.value for entry in entries] == [name.encode()]


def count_rings(members: Sequence[Member]) -> int:
    """How many rings the members form that follow the first of their lists, whether they can reach it or not."""
    follows = {
        member.me: member.state.successors[0] if member.state.successors else member.me
        for member in members
        if member.active
    }
    lowest = set()
    for start in follows:
        at: Pointer | None = start
        for _ in follows:  # so many steps lead onto the ring
            at = follows.get(at) if at is not None else None
        around = []
        while at is not None and at not in around:
            around.append(at)
            at = follows.get(at)
        if at is not None:
            lowest.add(min(pointer.id for pointer in around))
    return len(lowest)
