"""Cached owners against a plain list of what was learned, and a client with a cache on rings that change."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from chord.asking import Ring
from chord.identifiers import IdentifierSpace
from chord.lookup import Walk
from chord.messages import Pointer
from chord.owner_cache import OwnerCache
from chord.trace import HopTrace
from sim import checks
from sim.cluster import Cluster, address_of

BITS = 6
SPACE = IdentifierSpace(BITS)
identifiers = st.integers(0, 63)
steps = st.one_of(
    st.tuples(st.just("learn"), identifiers, identifiers),
    st.tuples(st.just("forget"), identifiers, identifiers),
    st.tuples(st.just("wait"), st.integers(1, 4), st.just(0)),
)
NAMES = [f"name-{number}" for number in range(12)]


def member(identifier: int) -> Pointer:
    return Pointer(identifier, f"n{identifier}:1", 1)


@given(st.lists(steps, max_size=40), identifiers)
def test_a_cached_owner_was_learned_for_that_key_less_than_a_lease_ago(drawn, key):
    """And if the nearest owner that is known of was learned for the key, it is found."""
    cache = OwnerCache(SPACE, lease_s=5.0)
    model: dict[int, tuple[set[int], float]] = {}
    now = 0.0
    for what, first, second in drawn:
        if what == "learn":
            walk = Walk(second, [member(first)], [HopTrace(0, "", 1, False)] * 2, (member(second),), member(second))
            cache.learn(walk, now)
            arc = {(first + step) % 64 for step in range(1, ((second - first) % 64 or 64) + 1)}
            model[second] = (arc if first != second else {second}, now)
        elif what == "forget":
            cache.forget(member(first))
            model.pop(first, None)
        else:
            now += first

    owner = cache.find(key, now)

    if owner is not None:
        arc, learned_at = model[owner.id]
        assert key in arc
        assert now - learned_at < 5.0
    elif model:
        arc, learned_at = model[min(model, key=lambda identifier: (identifier - key) % 64)]
        assert key not in arc or now - learned_at >= 5.0


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.lists(st.sampled_from(["crash", "join", "leave", "restart"]), min_size=1, max_size=4))
def test_a_client_with_a_cache_reads_what_it_wrote_while_the_ring_changes(seed, changes):
    """What was acknowledged is what a client without a cache reads, too; and lookups end at the right owner."""
    cluster = Cluster(seed)
    cluster.start_many(6)
    assert cluster.converge(60.0) is not None
    client = cluster.client()
    ring = Ring(client.kernel, [address_of(0)], cluster.settings.space, patience_s=20.0, cache=True)
    other = cluster.client("other")
    plain = other.ring([address_of(0)], patience_s=20.0)
    rng = cluster.rng("changes")
    for number, change in enumerate(changes):
        for name in NAMES:
            client.ask(ring.put(name, "e", b"before", 600.0), 60.0)
        victim = address_of(rng.randrange(1, 6))
        if change == "join" or victim not in cluster.nodes:
            cluster.start(address_of(100 + number), [address_of(0)])
        elif change == "leave":
            cluster.leave(victim)
        elif change == "crash":
            cluster.crash(victim)
        else:
            cluster.restart(victim, [address_of(0)])
        cluster.scheduler.run_for(rng.uniform(0.0, 0.5))
        for name in NAMES:
            value = f"{number} {name}".encode()
            client.ask(ring.put(name, "e", value, 600.0), 60.0)
            for entries in (client.ask(ring.get(name), 60.0), other.ask(plain.get(name), 60.0)):
                assert [entry.value for entry in entries] == [value], f"seed {seed}, {changes}"
        assert cluster.converge(60.0) is not None
        for name in NAMES:
            walk = client.ask(ring.locate(name))
            assert walk.owner == checks.right_owner(cluster.members(), walk.key), f"seed {seed}, {changes}"
