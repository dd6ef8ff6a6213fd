"""Join, stabilize and rectify against peers that answer, refuse, lie, or are gone. Zave 2017, section 4."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chord import errors, joining, maintenance
from chord.errors import Busy, LocalProtocolError, LookupFailed, NotMember
from chord.messages import GetNeighbours, Hop, Leave, Neighbours, NextHop, Noted, Notify, Nudge, Ping, Pong, Request
from tests.unit.chord.worlds import World, boot, host, pointer, scripted

FOREIGN = [
    kind("the peer says so")
    for kind in (
        errors.LookupFailed,
        errors.CopiesMissing,
        errors.InvalidName,
        errors.TooLarge,
        errors.StaleVersion,
        errors.NotOwner,
        errors.Refused,
        errors.RemoteProtocolError,
    )
]
KINDS = [type(error).__name__ for error in FOREIGN]


def bodies(requests: list[Request], kind: type) -> list:
    return [request.body for request in requests if isinstance(request.body, kind)]


def ring_peer(me, predecessor, successors, whole=True):
    """A peer that precedes every key asked, with these neighbours."""

    def answer(request: Request):
        body = request.body
        if isinstance(body, NextHop):
            return Hop(me, True, successors or (me,))
        if isinstance(body, GetNeighbours):
            return Neighbours(me, predecessor, successors, whole)
        return Pong() if isinstance(body, Ping) else Noted()

    return answer


# Join --------------------------------------------------------------------------------------------------------------


def test_a_joiner_copies_the_list_of_its_predecessor(world):
    """The list is that of the member before the joiner, at full length; the predecessor is that member."""
    members = [pointer(identifier) for identifier in (100, 200, 300, 400)]
    scripted(world, "n100:1", ring_peer(members[0], members[3], tuple(members[1:])))
    joiner = host(world, 150).members[0]

    world.finish(joiner.kernel, joining.join(joiner, [members[0]]))

    assert joiner.state.successors == (*members[1:], members[0])
    assert joiner.state.whole
    assert joiner.state.predecessor == members[0]
    assert joiner.active and not joiner.reach.complete


def test_a_joiner_goes_on_to_where_it_belongs(world):
    """A lookup that ended too early is followed along the successors, and one too far along the predecessors."""
    members = [pointer(identifier) for identifier in (100, 200, 300)]
    for position, each in enumerate(members):
        following = tuple(members[position + 1 :] + members[:position])
        scripted(world, each.address, ring_peer(each, following[-1], following))
    for identifier, expected in ((250, 200), (150, 100), (350, 300), (50, 300)):
        joiner = host(world, identifier).members[0]

        world.finish(joiner.kernel, joining.join(joiner, [members[0]]))

        assert joiner.state.predecessor == pointer(expected)


def test_an_identifier_in_use_is_refused(world):
    """A joiner whose identifier belongs to a live process elsewhere is told by whom, and to take another address."""
    taken = pointer(150, "elsewhere:1")
    scripted(world, "n100:1", ring_peer(pointer(100), taken, (taken,)))
    scripted(world, "elsewhere:1", ring_peer(taken, pointer(100), (pointer(100),)))
    joiner = host(world, 150).members[0]

    with pytest.raises(LocalProtocolError, match=r"0096 is in use by 0+96 at elsewhere:1; choose another address"):
        world.finish(joiner.kernel, joining.join(joiner, [pointer(100)]))

    assert not joiner.active


def test_a_former_self_is_awaited(world):
    """A restarted process waits until the ring has dropped its former self, and joins then."""
    former = pointer(150, incarnation=77)
    successors = [(former, pointer(200)), (former, pointer(200)), (pointer(200),)]

    def answer(request: Request):
        if isinstance(request.body, GetNeighbours):
            now = successors.pop(0) if len(successors) > 1 else successors[0]
            return Neighbours(pointer(100), pointer(200), now, True)
        return Hop(pointer(100), True, (former,))

    scripted(world, "n100:1", answer)
    joiner = host(world, 150).members[0]

    world.finish(joiner.kernel, joining.join(joiner, [pointer(100)]))

    assert joiner.state.successors == (pointer(200), pointer(100))
    assert world.now >= 2 * joiner.settings.stabilize_s


def test_a_ring_that_leads_nowhere_is_given_up(world):
    """Members that send a joiner round and round cost it a bounded number of queries."""
    first, second = pointer(100), pointer(120)
    got = scripted(world, "n100:1", ring_peer(first, None, (second,)))
    scripted(world, "n120:1", lambda _request: Neighbours(second, None, (pointer(121, "n120:1"),), False))
    joiner = host(world, 130).members[0]

    with pytest.raises(LookupFailed, match="found no place in the ring within 32 members"):
        world.finish(joiner.kernel, joining.join(joiner, [first]), 600.0)

    assert len(got) <= 64


def test_a_busy_member_is_asked_again(world):
    """A neighbour query that meets a busy member is repeated after a pause, eight times at most."""
    answers: list = [Busy("not now")] * 3

    def answer(_request: Request):
        return answers.pop() if answers else Neighbours(pointer(100), None, (), True)

    got = scripted(world, "n100:1", answer)
    member = host(world, 150).members[0]

    assert world.finish(member.kernel, maintenance.ask_neighbours(member, pointer(100))).member == pointer(100)
    assert len(got) == 4

    scripted(world, "n200:1", lambda _request: Busy("never"))
    with pytest.raises(Busy, match="was busy 8 times in a row"):
        world.finish(member.kernel, maintenance.ask_neighbours(member, pointer(200)))
    assert member.pending == 0


# Stabilize ---------------------------------------------------------------------------------------------------------


def settled(world: World, identifiers: tuple[int, ...] = (100, 300, 500)):
    """A ring of real members and the first of them."""
    hosts = boot(world, list(identifiers))
    return hosts, hosts[0].members[0]


def test_a_closer_successor_is_asked_before_it_is_adopted(world):
    """The successor's predecessor becomes the successor only once it has answered itself."""
    hosts, member = settled(world)
    successor = hosts[1].members[0]
    ghost = pointer(200, incarnation=9)
    successor.state = type(successor.state)(
        successor.me, successor.settings.space, 8, 3, successor.state.successors, True, ghost
    )

    world.finish(member.kernel, maintenance.stabilize(member))

    assert member.state.successor == successor.me


def test_a_dead_successor_is_replaced_by_the_next(world):
    """No reply twice: the successor is dropped, and the next of the list takes its place."""
    hosts, member = settled(world)
    world.crash("n300:1")

    world.finish(member.kernel, maintenance.stabilize(member))

    assert member.state.successor == hosts[2].members[0].me
    assert "n300:1" in [lost.address for lost in hosts[0].lost]


def test_a_former_incarnation_is_dead_at_once(world):
    """NotMember is as good as a death, and needs no time-out."""
    hosts, member = settled(world)
    scripted(world, "n300:1", lambda _request: NotMember("no such member"))
    before = world.now

    world.finish(member.kernel, maintenance.stabilize(member))

    assert member.state.successor == hosts[2].members[0].me
    assert world.now - before < 0.2


def test_a_busy_successor_is_not_dropped(world):
    """A successor that is busy for long stays the successor."""
    _, member = settled(world)
    scripted(world, "n300:1", lambda _request: Busy("still"))

    world.finish(member.kernel, maintenance.stabilize(member))

    assert member.state.successor.id == 300


@pytest.mark.parametrize("error", FOREIGN, ids=KINDS)
def test_a_refusal_of_any_kind_ends_one_stabilization_only(world, error):
    """Whatever error a successor reports, the member stabilizes again as soon as it may."""
    _, member = settled(world)
    real = world.kernels["n300:1"]
    scripted(world, "n300:1", lambda _request: error)

    world.finish(member.kernel, maintenance.stabilize(member))
    world.run(at_most_s=5.0)

    assert not member.stabilizing
    world.kernels["n300:1"] = real
    world.sent.clear()
    world.run(at_most_s=5.0)
    assert any(
        sender == "n100:1" and isinstance(message, Request) and isinstance(message.body, GetNeighbours)
        for sender, _, message in world.sent
    )


@pytest.mark.parametrize("error", FOREIGN, ids=KINDS)
def test_a_refusal_of_any_kind_ends_one_rectification_only(world, error):
    """Whatever error an old predecessor reports to a ping, it is alive; the member rectifies again when notified."""
    _, member = settled(world)
    scripted(world, "n500:1", lambda _request: error)

    world.finish(member.kernel, maintenance.rectify(member))
    member.serve(Request(1, "ringcast", 1, Notify(pointer(450))))
    world.run(at_most_s=5.0)

    assert not member.rectifying and member.notifier is None


def test_a_lower_notifier_waits_for_the_death_of_the_predecessor(world):
    """Rectify: a notifier that is farther than the predecessor is adopted when a ping shows that one dead."""
    hosts, member = settled(world)

    member.serve(Request(1, "ringcast", 1, Notify(pointer(400))))
    world.run(at_most_s=1.0)
    assert member.state.predecessor == hosts[2].members[0].me

    world.crash("n500:1")
    member.serve(Request(1, "ringcast", 1, Notify(pointer(400))))
    world._carry_out(member.kernel, member.kernel.take())
    assert world.run(lambda: member.state.predecessor == pointer(400), 5.0)


def test_a_closer_notifier_is_adopted_at_once(world):
    """Rectify: a notifier between predecessor and member becomes the predecessor."""
    _, member = settled(world)

    assert member.serve(Request(1, "ringcast", 1, Notify(pointer(600)))) == Noted()

    assert member.state.predecessor == pointer(600)


def test_a_stabilization_that_finds_nothing_new_is_one_query(world):
    """The query tells the successor of its predecessor; it is told nothing else."""
    _, member = settled(world)
    world.sent.clear()

    world.finish(member.kernel, maintenance.stabilize(member))

    sent = [(receiver, message.body) for sender, receiver, message in world.sent if sender == "n100:1"]
    assert sent == [("n300:1", GetNeighbours(sender=member.me))]


def test_a_successor_that_names_a_dead_predecessor_is_notified(world):
    """It has not adopted whoever asked: it is told to look after its predecessor, once that one did not answer."""
    _, member = settled(world)
    got = scripted(world, "n300:1", ring_peer(pointer(300), pointer(200), (pointer(500), member.me)))

    world.finish(member.kernel, maintenance.stabilize(member))
    world.run(at_most_s=0.01)

    assert bodies(got, Notify) == [Notify(member.me)]


def test_a_silent_predecessor_is_pinged(world):
    """A predecessor that has not notified for a while is asked, and dropped when it is gone."""
    _, member = settled(world)
    world.crash("n500:1")

    assert world.run(lambda: member.state.predecessor != pointer(500) and member.state.successor.id == 300, 10.0)
    assert world.run(lambda: member.state.predecessor is not None and member.state.predecessor.id == 300, 10.0)


def test_whoever_leaves_is_forgotten_at_once(world):
    """Leave takes the sender out of the list, the fingers and the predecessor."""
    hosts, member = settled(world)
    gone = hosts[1].members[0].me

    member.serve(Request(1, "ringcast", 1, Leave(gone)))

    assert gone not in member.state.successors
    assert gone not in list(member.fingers)


@pytest.mark.parametrize(
    "late", [Notify, lambda sender: GetNeighbours(observe=True, sender=sender)], ids=["notice", "query"]
)
def test_whoever_left_is_not_adopted_again(world, late):
    """What it sent before may come after; only another incarnation of it can be a neighbour."""
    _, member = settled(world)
    gone = member.state.predecessor

    member.serve(Request(1, "ringcast", 1, Leave(gone)))
    member.serve(Request(1, "ringcast", 2, late(gone)))
    assert member.state.predecessor is None and not member.rectifying

    again = replace(gone, incarnation=gone.incarnation + 1)
    member.serve(Request(1, "ringcast", 3, late(again)))
    assert member.state.predecessor == again


def test_a_notifier_that_leaves_while_it_waits_is_not_adopted(world):
    """The predecessor before it turns out to be dead; so would the notifier."""
    _, member = settled(world)
    world.crash("n500:1")
    member.serve(Request(1, "ringcast", 1, Notify(pointer(400))))
    assert member.notifier == pointer(400)

    member.serve(Request(1, "ringcast", 2, Leave(pointer(400))))
    world.finish(member.kernel, maintenance.watch_predecessor(member))

    assert world.run(lambda: not member.rectifying and member.state.predecessor != pointer(500), 10.0)
    assert member.state.predecessor != pointer(400)


def test_a_candidate_that_leaves_while_it_is_asked_is_not_adopted(world):
    """Its answer was under way when it said that it leaves."""
    hosts, member = settled(world)
    successor, candidate = hosts[1].members[0], pointer(200)

    def leaves(request: Request):
        if isinstance(request.body, GetNeighbours) and candidate not in member.departed:
            member.serve(Request(1, "ringcast", 1, Leave(candidate)))
        return ring_peer(candidate, member.me, (successor.me,), whole=False)(request)

    asked = scripted(world, "n200:1", leaves)
    successor.serve(Request(1, "ringcast", 1, Notify(candidate)))

    world.finish(member.kernel, maintenance.stabilize(member))

    assert member.state.successor == successor.me
    queries = bodies(asked, GetNeighbours)
    assert queries and not any(query.sender for query in queries)  # only a successor is told of who asks


def test_a_nudge_changes_no_state(world):
    """A nudge only makes the member stabilize now."""
    _, member = settled(world)
    before = member.state

    member.serve(Request(1, "ringcast", 0, Nudge()))

    assert member.state == before
    assert member.stabilizing


def test_the_last_member_is_alone(world):
    """When everybody else leaves, the one that stays owns the whole ring."""
    hosts, member = settled(world)
    for each in hosts[1:]:
        world.finish(each.kernel, each.leave())
        world.crash(each.kernel.address)

    assert world.run(lambda: member.state.alone, 30.0)
    assert all(member.owns(key) for key in range(0, 1024, 31))


def test_the_last_survivor_is_alone(world):
    """When everybody else crashes, the one that stays comes to own the whole ring."""
    hosts, member = settled(world)
    for each in hosts[1:]:
        world.crash(each.kernel.address)

    assert world.run(lambda: member.state.alone and member.active, 60.0)


def test_fingers_are_filled_by_one_round(world):
    """One round of refreshes gives every finger its owner."""
    hosts, member = settled(world, (100, 228, 356, 612))
    member.fingers.new_round()

    while world.finish(member.kernel, maintenance.fix_finger(member)):
        pass

    assert list(member.fingers) == [each.members[0].me for each in hosts[1:]]


def test_a_ring_of_many_is_ideal(world):
    """Twenty members that join one another at random are in order, each with the eight that follow it."""
    identifiers = [(37 * number) % 1021 for number in range(1, 21)]
    hosts = boot(world, identifiers)
    ordered = sorted((each.members[0] for each in hosts), key=lambda member: member.me.id)

    for position, member in enumerate(ordered):
        following = [ordered[(position + step) % 20].me for step in range(1, 9)]
        assert list(member.state.successors) == following
        assert member.state.predecessor == ordered[position - 1].me
        assert not member.state.whole


def test_a_ring_closes_where_a_process_of_another_cluster_took_the_address_of_a_member(world):
    """It answers, so that no time-out tells that the member is gone."""
    hosts = boot(world, [100, 300, 500, 700])
    stranger = host(world, 500)
    stranger.kernel.cluster = "other"
    world.finish(stranger.kernel, stranger.boot([], 30.0))

    def neighbours():
        return {
            one.members[0].me.id: (
                one.members[0].state.predecessor and one.members[0].state.predecessor.id,
                [pointer.id for pointer in one.members[0].state.successors],
            )
            for one in hosts
            if one is not hosts[2]
        }

    closed = {100: (700, [300, 700]), 300: (100, [700, 100]), 700: (300, [100, 300])}
    assert world.run(lambda: neighbours() == closed, 30.0), neighbours()
    assert stranger.members[0].state.alone
