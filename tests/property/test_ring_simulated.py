"""Whatever happens to a small ring within its failure budget, it becomes ideal again and names the right owners.

Messages are in flight all the time: nothing waits for the ring to settle, except a failure when the budget is spent.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from chord.identifiers import IdentifierSpace
from chord.settings import Settings
from sim import checks
from sim.cluster import Cluster, address_of
from sim.network import Link, uniform

LARGEST = 10
HEALS_WITHIN_S = 60.0
NAMES = 6

numbers = st.integers(0, 10**6)


class SimulatedRing(RuleBasedStateMachine):
    """A cluster of 1 to 10 nodes on 4 to 8 bits.

    The budget: from one ideal ring to the next, failures and departures together are fewer than the entries of a list,
    which in a small ring are all other members. More could take every pointer that a joiner has, which nothing mends.
    """

    @initialize(seed=numbers, bits=st.integers(4, 8), successors=st.integers(2, 4), size=st.integers(1, 4))
    def begin(self, seed, bits, successors, size):
        self.space = IdentifierSpace(bits)
        ring = Settings(successors=successors, failures=min(2, successors - 1), space=self.space)
        self.cluster = Cluster(seed, ring, Link(uniform(0.001, 0.05)))
        # Those whose identifiers differ, and no more than there are identifiers.
        addresses = map(address_of, range(1000))
        self.free = list({self.space.member("ringcast", address): address for address in addresses}.values())
        first = self.free.pop()
        self.cluster.start(first, [])
        for _ in range(size - 1):
            self.cluster.start(self.free.pop(), [first])
        self.settle()

    def settle(self):
        took = self.cluster.converge(HEALS_WITHIN_S)
        assert took is not None, f"seed {self.cluster.seed}, at {self.cluster.now:.3f} s: {self.cluster.faults()[:5]}"
        assert checks.one_ordered_ring(self.cluster.members()) == []
        self.budget = min(self.cluster.settings.successors, len(self.cluster.nodes)) - 1

    def running(self):
        return [address for address, node in self.cluster.nodes.items() if node.booted.done]

    def spend(self, number):
        """One of the nodes that may fail now, after settling if the budget is spent; None when there is none."""
        if not self.budget:
            self.settle()
        if not self.budget:
            return None
        self.budget -= 1
        running = self.running()
        return running[number % len(running)]

    @precondition(lambda self: self.free and len(self.cluster.nodes) < LARGEST)
    @rule(number=numbers)
    def join(self, number):
        bootstrap = self.running()
        turn = number % len(bootstrap)
        self.cluster.start(self.free.pop(), bootstrap[turn:] + bootstrap[:turn])

    @rule(number=numbers)
    def crash(self, number):
        if (address := self.spend(number)) is not None:
            self.cluster.crash(address)

    @rule(number=numbers)
    def restart(self, number):
        if (address := self.spend(number)) is not None:
            self.cluster.restart(address, [other for other in self.running() if other != address])

    @rule(number=numbers)
    def leave(self, number):
        if (address := self.spend(number)) is not None:
            self.cluster.leave(address)

    @rule(number=numbers, seconds=st.floats(0.0, 0.4))
    def pause(self, number, seconds):
        process = list(self.cluster.nodes.values())[number % len(self.cluster.nodes)].process
        process.pause()
        self.cluster.scheduler.run_for(seconds)
        process.resume()

    @rule(seconds=st.floats(0.0, 2.0))
    def run(self, seconds):
        self.cluster.scheduler.run_for(seconds)

    def teardown(self):
        if not hasattr(self, "cluster"):
            return
        self.settle()
        assert self.cluster.refused == {}
        client = self.cluster.client()
        for number in range(NAMES):
            via = list(self.cluster.nodes)[number % len(self.cluster.nodes)]
            walk = client.locate(f"name-{number}", via)
            assert walk.owner == checks.right_owner(self.cluster.members(), walk.key)


TestSimulatedRing = SimulatedRing.TestCase
TestSimulatedRing.settings = settings(max_examples=150, stateful_step_count=25)
