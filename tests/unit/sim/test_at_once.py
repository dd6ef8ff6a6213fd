"""Operations carried out at once end as they do over a network, and the dead cost what they cost there."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from msgspec.structs import replace

from chord.effects import call, sleep
from chord.errors import LookupFailed, NotMember, PeerUnreachable
from chord.lookup import Walk, find_owner
from chord.messages import ConfirmOwner, NextHop, Ping, Pong
from sim.at_once import Asker, AtOnce
from sim.paper.rings import ideal


@pytest.fixture
def hosts():
    return ideal(20, 4, seed=3)


def test_a_lookup_ends_at_the_owner(hosts):
    """The one that sorting gives."""
    ring = AtOnce(hosts)
    identifiers = sorted(host.members[0].me.id for host in hosts)
    space = hosts[0].settings.space

    for key in range(0, space.size, space.size // 50):
        owner = ring.finish(find_owner(Asker(), space, [hosts[0].members[0].me], Walk(key)))
        assert owner.id == identifiers[bisect_left(identifiers, key) % len(identifiers)]
    assert not ring.unanswered


def test_the_dead_say_nothing_and_are_counted(hosts):
    """By what they were asked."""
    ring = AtOnce(hosts[1:])
    dead = hosts[0].members[0].me

    for request in (NextHop(5), NextHop(6), ConfirmOwner(7)):
        with pytest.raises(PeerUnreachable, match=r"no reply from 10\.0\.0\.0:5000"):
            ring.finish(call(dead, request, Pong))
    assert ring.unanswered == {NextHop: 2, ConfirmOwner: 1}


def test_an_operation_hears_of_an_error_where_it_asked(hosts):
    """A lookup goes on to its next contact, and fails when there is none."""
    ring = AtOnce(hosts[1:])
    dead, living = hosts[0].members[0].me, hosts[1].members[0].me
    space = hosts[0].settings.space

    walk = Walk(living.id)
    assert ring.finish(find_owner(Asker(), space, [dead, living], walk)) == living
    assert walk.timeouts == 1
    with pytest.raises(LookupFailed, match="no ring node answered"):
        ring.finish(find_owner(Asker(), space, [dead], Walk(5)))


def test_another_incarnation_is_no_member(hosts):
    """As a process answers that has been started anew."""
    former = replace(hosts[0].members[0].me, incarnation=7)

    with pytest.raises(NotMember, match="hosts no member"):
        AtOnce(hosts).finish(call(former, Ping(), Pong))


def test_what_takes_time_is_no_operation_for_it(hosts):
    """It says so."""
    with pytest.raises(AssertionError, match="is not a call"):
        AtOnce(hosts).finish(sleep(1.0))
