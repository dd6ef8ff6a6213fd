"""Records of simulated rings, through the deaths that a replica has not been told of."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from chord.effects import call
from chord.member import Member
from chord.messages import Get, Page
from chord.settings import Settings
from sim.cluster import Cluster, address_of

NAMES = [f"name-{number}" for number in range(60)]


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(4, 8))
def test_a_joiner_whose_predecessor_dies_forgets_nothing(seed, count):
    """Its predecessor crashes when it has just adopted it, and copied nothing to it yet: what the joiner answers for
    from then on is not empty, whenever it is asked.
    """
    cluster = Cluster(seed, Settings(repair_s=20.0))
    cluster.start_many(count)
    assert cluster.converge(60.0) is not None
    client = cluster.client()
    for name in NAMES:
        client.ask(client.ring([address_of(0)]).put(name, "e", b"v", 600.0))
    others = cluster.members()
    joiner = cluster.start(address_of(99), [address_of(0)])
    member = joiner.host.members[0]

    def adopters() -> list[Member]:
        return [one for one in others if one.state.successors[:1] == (member.me,)]

    assert cluster.scheduler.run_until(lambda: bool(adopters()), 60.0)
    dead = adopters()[0]
    names = [name for name in NAMES if dead.owns(cluster.settings.space.key(name))]
    cluster.crash(dead.me.address)

    outcomes = []
    for _ in range(400):
        outcomes += [client.process.start(call(member.me, Get(name), Page)) for name in names]
        cluster.scheduler.run_for(0.01)
    cluster.scheduler.run_for(5.0)

    pages = [outcome.value() for outcome in outcomes if outcome.error is None]
    assert all([entry.value for entry in page.entries] == [b"v"] for page in pages), f"seed {seed}"
    assert not names or pages
