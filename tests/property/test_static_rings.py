"""The static engine against the production code, node for node, on small rings."""

from __future__ import annotations

import random
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chord.fingers import FingerTable, Routes
from chord.identifiers import IdentifierSpace
from chord.messages import NextHop
from chord.settings import Settings
from sim.cluster import Cluster, address_of
from sim.ideal import start_ideal
from sim.paper.rings import path_lengths
from sim.static import engine, loops, walking
from sim.static.making import hashed
from sim.static.report import Engine
from sim.static.ring import Ring
from tests.strategies import following, pointer


def looped(ring, starts, keys, successors=0, dead=None):
    """The loops that numba compiles, as they are."""
    with np.errstate(over="ignore"):  # numbers of 64 bits go round, as identifiers do
        return engine.walk_by(loops.walk, ring, starts, keys, successors, dead)


WALKERS = [pytest.param(walking.walk, id="numpy"), pytest.param(looped, id="looped")]
if engine.fastest() is Engine.numba:
    WALKERS.append(pytest.param(engine.walker(Engine.numba), id="numba"))


@st.composite
def drawn(draw, most=64):
    """A space, and the identifiers of a ring in it in order; some lie where fingers of one place begin."""
    space = IdentifierSpace(draw(st.integers(1, 10) | st.just(63) | st.just(64)))
    anywhere = st.integers(0, space.size - 1)
    edges = st.sampled_from([0, space.size - 1, space.size // 2])
    begin = draw(anywhere)
    fingers = st.tuples(st.integers(0, space.bits - 1), st.integers(-1, 1)).map(
        lambda finger: (begin + 2 ** finger[0] + finger[1]) % space.size
    )
    chosen = draw(st.sets(anywhere | edges | fingers | st.just(begin), min_size=1, max_size=min(most, space.size)))
    return space, sorted(chosen)


def static(space, identifiers):
    return Ring(np.array(identifiers, np.uint64), space.bits)


def following_keys(space, identifiers):
    """Keys at, just before and just after members: where mistakes are."""
    return st.sampled_from(identifiers).flatmap(
        lambda identifier: st.integers(-2, 2).map(lambda off: (identifier + off) % space.size)
    ) | st.integers(0, space.size - 1)


def candidates(space, ring, me, length):
    """Every finger, and so many successors."""
    table = FingerTable(me, space)
    while (due := table.next_start()) is not None:
        index, start = due
        table.fill(index, next((member for member in ring if member.id >= start), ring[0]))
    return [*table, *following(ring, me)[:length]]


@given(drawn(), st.integers(0, 12), st.data())
def test_the_next_hop_is_that_of_the_production_code(drawn, length, data):
    """From every member, to a key that neither it nor its successor owns: what Routes names first."""
    space, identifiers = drawn
    ring = [pointer(identifier, 1) for identifier in identifiers]
    key = data.draw(following_keys(space, identifiers))
    ours = static(space, identifiers)
    owner = int(ours.owners(ours.shifted(np.array([key], np.uint64)))[0])
    before = owner - 1 if owner else ours.size - 1

    asked = np.array([place for place in range(ours.size) if place not in (owner, before)], np.int64)
    found = walking.preceding(ours, asked, np.full(asked.size, before, np.int64), length)

    assert ring[owner] == next((member for member in ring if member.id >= key), ring[0])
    for place, following_hop in zip(asked.tolist(), found.tolist(), strict=True):
        named = Routes(ring[place], space, candidates(space, ring, ring[place], length)).preceding(key, 1)
        assert named == (ring[following_hop],)


@lru_cache(64)
def production(nodes, length, seed, bits):
    """An ideal ring of the production code, and its members in order; None where identifiers collide."""
    settings = Settings(cluster=f"ring-{seed}", successors=length, failures=0, replicas=1, space=IdentifierSpace(bits))
    if len({settings.space.member(settings.cluster, address_of(node)) for node in range(nodes)}) < nodes:
        return None
    hosts = [node.host for node in start_ideal(Cluster(seed, settings), nodes, upkeep=False)]
    return hosts, sorted((host.members[0] for host in hosts), key=lambda member: member.me.id)


def ideal_rings():
    """Nodes, length of the lists, seed and bits of rings that exist: in small spaces identifiers collide."""
    crowded = st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(0, 9), st.just(8))
    others = st.tuples(st.integers(1, 64), st.integers(1, 12), st.integers(0, 9), st.sampled_from([12, 64]))
    return (crowded | others).filter(lambda size: production(*size) is not None)


@pytest.mark.parametrize("walk", WALKERS)
@given(size=ideal_rings(), data=st.data())
def test_a_member_says_what_the_engine_takes_for_its_answer(walk, size, data):
    """Each member of an ideal ring: whether its answer is final, and whom it names otherwise."""
    nodes, length, seed, bits = size
    _, members = production(*size)
    space = IdentifierSpace(bits)
    ours = hashed(nodes, cluster=f"ring-{seed}", space=space)
    key = data.draw(following_keys(space, [member.me.id for member in members]))
    shifted = ours.shifted(np.full(nodes, key, np.uint64))
    starts = np.arange(nodes)

    hops = walk(ours, starts, shifted, length).hops
    far = np.flatnonzero(hops)
    named = walking.preceding(ours, starts[far], ours.before(ours.owners(shifted))[far], length)

    answers = [member.next_hop(NextHop(key)) for member in members]
    assert [not answer.final for answer in answers] == [bool(count) for count in hops]
    assert [answers[place].candidates[0] for place in far] == [members[place].me for place in named]
    assert (walk(ours, named, shifted[far], length).hops == hops[far] - 1).all()


@pytest.mark.parametrize("walk", WALKERS)
@given(size=st.tuples(st.integers(1, 64), st.integers(1, 12), st.integers(0, 9), st.just(64)), seed=st.integers(0, 9))
def test_path_lengths_are_those_of_production_lookups(walk, size, seed):
    """The same starts and keys in the same ring."""
    nodes, length, _, _ = size
    hosts, members = production(*size)
    counts = path_lengths(hosts, 20, random.Random(seed))
    place = {member.me: number for number, member in enumerate(members)}
    rng = random.Random(seed)
    keys, starts = zip(*((rng.getrandbits(64), place[rng.choice(hosts).members[0].me]) for _ in range(20)), strict=True)

    walks = walk(
        hashed(nodes, cluster=f"ring-{size[2]}"), np.array(starts, np.int64), np.array(keys, np.uint64), length
    )

    assert Counter(walks.hops.tolist()) == counts
    assert walks.found.all()
    assert not walks.timeouts.any()


@pytest.mark.parametrize("walk", WALKERS)
@given(drawn=drawn(most=24), length=st.integers(0, 6), data=st.data())
def test_failures_cost_what_one_asker_pays(walk, drawn, length, data):
    """Against candidates looked through one by one: whoever lives is asked for the next, whoever is dead in vain."""
    space, identifiers = drawn
    size = len(identifiers)
    dead = data.draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(lambda gone: not all(gone)))
    key = data.draw(following_keys(space, identifiers))
    ours = static(space, identifiers)
    starts = [place for place in range(size) if not dead[place]]

    walks = walk(
        ours,
        np.array(starts, np.int64),
        ours.shifted(np.full(len(starts), key, np.uint64)),
        length,
        np.array(dead),
    )

    wanted = [tried_one_by_one(space, identifiers, dead, start, key, length) for start in starts]
    assert list(zip(walks.hops.tolist(), walks.timeouts.tolist(), walks.found.tolist(), strict=True)) == wanted


def tried_one_by_one(space, identifiers, dead, at, key, length):
    """Hops, time-outs, and whether the owner was named; nobody is tried twice who is dead."""
    ring = [pointer(identifier, 1) for identifier in identifiers]
    size = len(ring)
    owner = next((place for place in range(size) if identifiers[place] >= key), 0)
    hops, met = 0, set()
    if at == owner:
        return 0, 0, True
    while True:
        me = ring[at]
        reach = space.distance(me.id, key) or space.size
        listed = [(at + step) % size for step in range(1, min(max(length, 1), size - 1) + 1)]
        living = next((place for place in listed if not dead[place]), None)
        known = {ring.index(one) for one in candidates(space, ring, me, length)}
        before = [place for place in known if 0 < space.distance(me.id, ring[place].id) < reach]
        for place in sorted(before, key=lambda place: space.distance(me.id, ring[place].id), reverse=True):
            if not dead[place]:
                hops, at = hops + 1, place
                break
            met.add(place)
        else:
            named = living is not None and space.distance(me.id, ring[living].id) >= reach
            return hops, len(met), named
