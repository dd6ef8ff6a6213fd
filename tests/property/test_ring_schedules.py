"""Whatever order messages arrive in, and whoever joins, leaves or fails meanwhile, the ring stays one, and gets ideal.

Rings are larger than those that are walked exhaustively (tests/unit/sim/test_exhaustive.py), so schedules are drawn:
operations begin, and single messages arrive, in any order. A schedule that breaks the ring is printed as a scenario.
"""

from __future__ import annotations

from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from sim.scenario import Scenario
from sim.stepwise import is_cast
from sim.telling import giving_up, hearing

LARGEST = 10

numbers = st.integers(0, 10**6)


class ScheduledRing(RuleBasedStateMachine):
    """A ring of 1 to 10 members with lists of 2 to 4 entries, whose every step is drawn.

    The budget: from one ideal ring to the next, failures and departures together are fewer than the entries of a list,
    which in a small ring are all other members. Zave's proof allows no more.
    """

    @initialize(length=st.integers(2, 4), identifiers=st.sets(st.integers(0, 1023), min_size=1, max_size=7))
    def begin(self, length, identifiers):
        self.length = length
        self.scenario = Scenario()
        self.ring = self.scenario.ring
        self.do(f"lists {length}")
        self.ring = self.scenario.ring
        self.do(f"ring {' '.join(map(str, sorted(identifiers)))}")
        self.refill()

    def do(self, command):
        try:
            self.scenario.do(command)
        except Exception:
            note("\n".join(self.scenario.log))
            raise

    def refill(self):
        self.budget = min(self.length, len(self.ring.processes)) - 1

    def active(self):
        return [address for address, each in self.ring.processes.items() if each.member.active]

    def staying(self):
        return [address for address in self.active() if not self.ring.processes[address].leaving]

    def one_of(self, choices, number):
        return choices[number % len(choices)]

    # Operations begin

    @precondition(lambda self: len(self.ring.processes) < LARGEST)
    @rule(identifier=st.integers(0, 1023), number=numbers, enters=st.booleans())
    def join(self, identifier, number, enters):
        if str(identifier) not in self.ring.processes:
            turn = number % len(self.active())
            via = (self.active()[turn:] + self.active()[:turn])[:3]
            self.do(f"{identifier} {'enters' if enters else 'joins'} via {' '.join(via)}")

    @rule(picked=st.lists(numbers, min_size=1, max_size=3))
    def stabilize(self, picked):
        for number in picked:
            self.do(f"{self.one_of(self.active(), number)} stabilizes")

    @rule(number=numbers)
    def rectify(self, number):
        self.do(f"{self.one_of(self.active(), number)} rectifies")

    @precondition(lambda self: self.budget > 0)
    @rule(number=numbers)
    def fail(self, number):
        self.budget -= 1
        self.do(f"{self.one_of(self.staying(), number)} fails")

    @precondition(lambda self: self.budget > 0)
    @rule(number=numbers, enters=st.booleans())
    def restart(self, number, enters):
        self.budget -= 1
        address = self.one_of(self.staying(), number)
        self.do(f"{address} fails")
        self.do(f"{address} {'enters' if enters else 'joins'} via {' '.join(self.active()[:3])}")

    @precondition(lambda self: self.budget > 0)
    @rule(number=numbers)
    def leave(self, number):
        self.budget -= 1
        self.do(f"{self.one_of(self.staying(), number)} leaves")

    # Messages arrive, calls time out, pauses end

    @precondition(lambda self: self.ring.flight)
    @rule(picked=st.lists(numbers, min_size=1, max_size=12))
    def hear(self, picked):
        for number in picked:
            if self.ring.flight:
                self.do(hearing(self.ring, number % len(self.ring.flight)))

    @precondition(lambda self: any(map(is_cast, self.ring.flight)))
    @rule(number=numbers)
    def hear_again(self, number):
        casts = [place for place, message in enumerate(self.ring.flight) if is_cast(message)]
        self.do(hearing(self.ring, self.one_of(casts, number), again=True))

    @precondition(lambda self: self.ring.overdue())
    @rule(number=numbers)
    def give_up(self, number):
        self.do(giving_up(self.ring, *self.one_of(self.ring.overdue(), number)))

    @precondition(lambda self: any(each.pauses() for each in self.ring.processes.values()))
    @rule(number=numbers)
    def wake(self, number):
        pausing = [address for address, each in self.ring.processes.items() if each.pauses()]
        self.do(f"{self.one_of(pausing, number)} wakes")

    @rule(number=numbers)
    def finish(self, number):
        self.do(f"{self.one_of(list(self.ring.processes), number)} finishes")

    @precondition(lambda self: self.budget == 0)
    @rule()
    def heal(self):
        self.do("rounds")
        self.refill()

    def teardown(self):
        if hasattr(self, "budget"):
            self.do("rounds")


TestScheduledRing = ScheduledRing.TestCase
TestScheduledRing.settings = settings(max_examples=120, stateful_step_count=50)
