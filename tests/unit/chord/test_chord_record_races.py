"""Records while members join, one exact moment at a time: what was acknowledged is read, by whomever it is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chord import maintenance
from chord.effects import call, cast
from chord.errors import Busy, CopiesMissing, NotMember, Refused, WrongCluster
from chord.host import Host
from chord.messages import (
    CompareArc,
    Copy,
    Entry,
    FetchArc,
    Get,
    GetNeighbours,
    Leave,
    Neighbours,
    Noted,
    Notify,
    Nudge,
    Page,
    Put,
    Reply,
    Request,
    Same,
    Stored,
)
from chord.settings import Settings
from tests.unit.chord.worlds import SETTINGS, SPACE, World, boot, client, host, pointer, scripted

LEASE_S = 600.0


def put(world: World, via: Host, name: str, value: bytes) -> Stored:
    kernel, ring = client(world, [via])
    return world.finish(kernel, ring.put(name, "e", value, LEASE_S))


def get(world: World, via: Host, name: str) -> list[bytes]:
    kernel, ring = client(world, [via])
    entries: list[Entry] = world.finish(kernel, ring.get(name))
    return [entry.value for entry in entries]


def start(world: World, identifier: int, settings: Settings = SETTINGS) -> Host:
    joiner = host(world, identifier, settings)
    world.start(joiner.kernel, joiner.boot(["n100:1"], 30.0))
    return joiner


def joined(joiner: Host) -> bool:
    return joiner.members[0].active


def body(message: Request | Reply) -> object:
    return message.body if isinstance(message, Request) else None


def notifies(message: Request | Reply) -> bool:
    """Whether a message tells a successor of its predecessor."""
    told = body(message)
    return isinstance(told, Notify) or (isinstance(told, GetNeighbours) and told.sender is not None)


def fetches(message: Request | Reply) -> bool:
    return isinstance(body(message), FetchArc)


@pytest.mark.parametrize("others", [[], [900], [700, 900]])
def test_a_put_between_snapshot_and_rectify_reaches_the_joiner(world, others):
    """The successor has not adopted the joiner: what it takes in for the joiner's arc is with the joiner before anybody
    is led there.
    """
    hosts = boot(world, [100, 500, *others])
    first = hosts[0].members[0]
    put(world, hosts[0], "k300", b"old")
    world.lost = lambda sender, _receiver, message: sender == "n400:1" and notifies(message)
    joiner = start(world, 400)
    assert world.run(lambda: joined(joiner), 5.0)
    world.run(at_most_s=0.4)  # its query is repeated in time
    put(world, hosts[0], "k300", b"new")

    world.lost = lambda _sender, _receiver, _message: False
    assert world.run(lambda: first.state.successor.id == 400, 10.0)

    assert get(world, hosts[0], "k300") == [b"new"]
    assert get(world, joiner, "k300") == [b"new"]
    assert world.run(lambda: joiner.members[0].reach.complete, 10.0)
    assert [entry.value for entry in joiner.members[0].store.page("k300", "", world.now).entries] == [b"new"]


@pytest.mark.parametrize("others", [[], [900], [700, 900]])
def test_a_put_that_a_second_joiner_in_the_gap_took_reaches_the_first(world, others):
    """A nearer joiner, which does not know the first yet, is taken for the owner of its arc, and is asked to store."""
    by_hand = Settings(space=SPACE, stabilize_s=30.0, repair_s=60.0)
    hosts = boot(world, [100, 500, *others], by_hand)
    first, successor = hosts[0].members[0], hosts[1].members[0]
    put(world, hosts[0], "k250", b"old")
    world.lost = lambda sender, _receiver, message: (
        isinstance(body(message), Nudge) or (sender == "n400:1" and (notifies(message) or fetches(message)))
    )
    nearer = start(world, 400, by_hand)
    assert world.run(lambda: joined(nearer), 5.0)
    farther = start(world, 300, by_hand)
    assert world.run(lambda: joined(farther) and successor.state.predecessor == farther.members[0].me, 0.4)
    world.lost = lambda sender, _receiver, message: (
        isinstance(body(message), Nudge) or (sender == "n400:1" and fetches(message))
    )
    assert world.run(lambda: successor.state.predecessor == nearer.members[0].me, 5.0)
    stabilized(world, hosts[0])
    assert first.state.successor == nearer.members[0].me

    assert put(world, hosts[0], "k250", b"new").copies >= 2
    world.lost = lambda _sender, _receiver, message: isinstance(body(message), CompareArc)
    stabilized(world, farther)
    stabilized(world, hosts[0])
    assert first.state.successor == farther.members[0].me

    assert get(world, hosts[0], "k250") == [b"new"]
    assert world.run(lambda: farther.members[0].reach.complete and nearer.members[0].reach.complete, 15.0)
    assert get(world, farther, "k250") == [b"new"]


def stabilized(world: World, one: Host) -> None:
    """One stabilization, and the time for its notice to arrive."""
    world.finish(one.kernel, maintenance.stabilize(one.members[0]))
    world.run(at_most_s=0.01)


@pytest.mark.parametrize("others", [[], [900]])
@pytest.mark.parametrize("politely", [True, False])
def test_a_joiner_answers_for_a_predecessor_that_went_while_it_has_not_got_its_own_records(world, politely, others):
    """It passes on what its successor has; of the arc that it inherits that one may have nothing, and it has a copy."""
    two = Settings(space=SPACE, replicas=2)
    hosts = boot(world, [100, 300, 700, *others], two)
    world.lost = lambda _sender, _receiver, message: isinstance(body(message), FetchArc)
    joiner = start(world, 500, two)
    assert world.run(lambda: hosts[1].members[0].state.successor.id == 500, 10.0)
    assert put(world, hosts[0], "k250", b"v") == Stored(1, 2)
    assert not joiner.members[0].reach.complete

    if politely:
        world.finish(hosts[1].kernel, hosts[1].leave())
    world.crash("n300:1")
    world.lost = lambda sender, _receiver, message: (
        sender == "n500:1" and isinstance(body(message), FetchArc) and (message.body.high == 500)
    )
    assert world.run(lambda: hosts[0].members[0].state.successor.id == 500, 10.0)

    assert not joiner.members[0].reach.complete
    assert get(world, hosts[0], "k250") == [b"v"]
    put(world, hosts[0], "k250", b"w")
    assert get(world, hosts[0], "k250") == [b"w"]
    world.lost = lambda _sender, _receiver, _message: False
    assert world.run(lambda: joiner.members[0].reach.complete, 20.0)
    assert get(world, hosts[0], "k250") == [b"w"]


def test_whoever_has_left_answers_no_more(world):
    """Both neighbours know that it left, and take puts for its keys, before it has heard that they do."""
    hosts = boot(world, [100, 300, 700])
    leaver, successor = hosts[1].members[0], hosts[2].members[0]
    put(world, hosts[0], "k250", b"old")
    told: list[bool] = []

    def unheard(_sender: str, receiver: str, message: Request | Reply) -> bool:
        told.extend([True] * isinstance(body(message), Leave))
        return bool(told) and receiver == "n300:1" and isinstance(message.body, Noted)

    world.lost = unheard
    left = world.start(hosts[1].kernel, hosts[1].leave())
    assert world.run(lambda: hosts[0].members[0].state.successor == successor.me != successor.state.predecessor, 5.0)
    assert world.run(lambda: successor.state.predecessor == hosts[0].members[0].me, 0.2)
    put(world, hosts[2], "k250", b"new")
    assert not left
    kernel, _ = client(world, hosts)

    with pytest.raises(Busy):
        world.finish(kernel, call(leaver.me, Get("k250"), Page))


def test_what_only_one_holder_is_left_of_is_not_guessed(world):
    """The owner and a replica died at once; the other replica is not heard, and those after it never held anything."""
    hosts = boot(world, [100, 300, 500, 600, 700, 900], Settings(space=SPACE, repair_s=60.0))
    assert put(world, hosts[0], "k250", b"v").copies == 3
    holders = [one.kernel.address for one in hosts if one.members[0].store.page("k250", "", world.now).entries]
    assert holders == ["n300:1", "n500:1", "n600:1"]
    assert world.run(lambda: all(one.members[0].reach.seasoned(world.now) for one in hosts), 30.0)
    world.lost = lambda _sender, receiver, message: receiver == "n400:1" and isinstance(body(message), Copy)
    joiner = start(world, 400)
    member = joiner.members[0]
    assert world.run(lambda: member.reach.complete, 10.0)
    world.run(at_most_s=1.0)
    member.repairing = True  # none of its own in between
    world.lost = lambda sender, receiver, _message: (sender, receiver) == ("n600:1", "n400:1")
    world.crash("n300:1")
    world.crash("n500:1")
    assert world.run(lambda: member.answers_for(250), 10.0)
    kernel, _ = client(world, hosts)

    with pytest.raises(Busy, match="has not heard yet what the former owner of"):
        world.finish(kernel, call(member.me, Get("k250"), Page, attempts=4))


@pytest.mark.parametrize("others", [[], [900]])
def test_a_put_that_a_joiner_passes_on_is_read_there_when_it_has_got_its_records_meanwhile(world, others):
    """What is acknowledged by way of a joiner is read there from then on.

    The joiner has its last page from before its successor took the put, and the copy went to another one that joined
    between the two: the joiner answers for the key alone when the acknowledgement comes, and no repair has told it.
    """
    two = Settings(space=SPACE, replicas=2)
    hosts = boot(world, [100, 700, *others], two)
    successor = hosts[1].members[0]
    world.lost = lambda _sender, _receiver, message: fetches(message)
    joiner = start(world, 400, two)
    member = joiner.members[0]
    assert world.run(lambda: member.adopted and hosts[0].members[0].state.successor == member.me, 10.0)
    world.lost = lambda sender, _receiver, message: (
        fetches(message) or isinstance(body(message), Nudge) or (sender == "n500:1" and notifies(message))
    )
    between = start(world, 500, two)
    assert world.run(lambda: joined(between), 5.0)
    kernel, _ = client(world, [joiner])
    outcomes: list[list[object]] = []

    def put_while_a_page_is_on_its_way(sender: str, receiver: str, message: Request | Reply) -> bool:
        if fetches(message) and sender == "n400:1" and not outcomes:
            outcomes.append(world.start(kernel, call(member.me, Put("k250", "e", b"v", LEASE_S), Stored)))
        if isinstance(body(message), Put) and receiver == "n700:1":
            world.start(between.kernel, cast(successor.me, Notify(between.members[0].me, complete=False)))
        return isinstance(body(message), CompareArc | Nudge)

    world.lost = put_while_a_page_is_on_its_way
    assert world.run(lambda: member.reach.complete, 10.0)
    assert outcomes == [[]]
    assert world.run(lambda: outcomes != [[]], 10.0)

    assert isinstance(outcomes[0][0], Stored)
    page = world.finish(kernel, call(member.me, Get("k250"), Page))
    assert [entry.value for entry in page.entries] == [b"v"]


def test_a_member_without_a_successor_takes_nothing(world):
    """It may be cut off: what it took, nobody else would hold."""
    one = host(world, 100)
    member = one.members[0]
    member.active = True
    member.state = replace(member.state, successors=(), whole=False)

    with pytest.raises(Busy, match="has lost all its successors"):
        member.require_owner(50)


def outcome(world: World, one: Host, body: Get | Put):
    """What a process answers, whether at once or after asking others."""
    answer = one.members[0].serve(Request(1, "ringcast", 1, body))
    return world.finish(one.kernel, answer) if hasattr(answer, "send") else answer


def test_who_has_taken_an_arc_over_is_asked_for_those_who_know_nothing_of_it(world):
    """A second joiner has come behind the first, which may have its records by now; the second has passed this on."""
    hosts = boot(world, [100, 800])
    member = hosts[1].members[0]
    taker = scripted(world, "n300:1", _as_owner)
    scripted(world, "n500:1", _as_owner)
    put(world, hosts[0], "k200", b"old")
    member.serve(Request(1, "ringcast", 1, Notify(pointer(300), complete=False)))
    ask = FetchArc(100, 300, ("", ""), takeover=True)

    def passed_on() -> list[object]:
        return [body(request) for request in taker if isinstance(body(request), Get | Put)]

    assert outcome(world, hosts[1], ask).entries[0].value == b"old"
    outcome(world, hosts[1], Put("k200", "e", b"1", LEASE_S, acting=True))
    assert passed_on() == []

    member.serve(Request(1, "ringcast", 1, Notify(pointer(500), complete=False)))
    requests = [Put("k200", "e", b"2", LEASE_S, acting=True), Get("k200", acting=True)]
    assert [outcome(world, hosts[1], request) for request in requests] == [Stored(77, 3), Page((), more=False)]
    assert passed_on() == requests
    assert [entry.value for entry in outcome(world, hosts[1], Get("k400", acting=True)).entries] == []
    assert len(passed_on()) == 2

    world.crash("n300:1")
    assert outcome(world, hosts[1], Put("k200", "e", b"3", LEASE_S, acting=True)).version != 77
    assert [entry.value for entry in outcome(world, hosts[1], Get("k200", acting=True)).entries] == [b"3"]


def test_an_attempt_that_waited_for_its_owner_does_not_undo_what_its_client_did_since(world):
    """The owner asks others what they hold, for longer than the client waits, which puts again, and then deletes."""
    hosts = boot(world, [100, 500, 800])
    member = hosts[2].members[0]
    member.reach.doubt(world.now)
    first = Put("k600", "e", b"v", LEASE_S, serial=(7, 1))
    waiting = world.start(hosts[2].kernel, member.serve(Request(1, "ringcast", 1, first)))
    assert not waiting

    member.reach.extend(500)
    assert outcome(world, hosts[2], first).version == 1
    outcome(world, hosts[2], Put("k600", "e", deleted=True, serial=(7, 2)))
    assert world.run(lambda: bool(waiting))

    assert outcome(world, hosts[2], Get("k600")).entries == ()


def test_a_read_finds_the_first_that_has_its_records_behind_many_joiners(world):
    """All of a small ring may have joined just now, but one; each takes its records over from the next."""
    one = host(world, 100)
    member = one.members[0]
    member.active = True
    member.reach.join(50)
    successors = tuple(pointer(number) for number in range(200, 1000, 100))
    member.state = replace(member.state, predecessor=pointer(50), successors=successors, whole=False)
    for joiner in successors[:-1]:
        scripted(world, joiner.address, lambda _request: Busy("it has not got all of its records yet"))
    kept = Page((Entry("k80", "e", 1, b"v", LEASE_S),), more=False)
    got = scripted(world, successors[-1].address, lambda _request: kept)

    assert outcome(world, one, Get("k80")) == kept
    assert [body(request) for request in got if isinstance(body(request), Get)] == [Get("k80", acting=True)]


def test_an_arc_that_its_taker_has_is_not_asked_of_it(world):
    """It has said so itself: whoever passes on here for its arc is refused."""
    hosts = boot(world, [100, 800])
    member = hosts[1].members[0]
    scripted(world, "n300:1", _as_owner)
    member.serve(Request(1, "ringcast", 1, Notify(pointer(300), complete=False)))
    outcome(world, hosts[1], FetchArc(100, 300, ("", ""), takeover=True))
    assert member.reach.taker(200) == pointer(300)

    member.serve(Request(1, "ringcast", 1, Notify(pointer(300), complete=True)))

    with pytest.raises(Refused):
        outcome(world, hosts[1], Get("k200", acting=True))


@pytest.mark.parametrize("onward", [True, False])
def test_what_comes_late_for_an_arc_goes_where_the_arc_has_gone(world, onward):
    """The successor took a put for it, and does not know that its joiner has given it to another one by now."""
    hosts = boot(world, [100, 800])
    taker = scripted(world, "n300:1", _as_owner)
    hosts[1].members[0].serve(Request(1, "ringcast", 1, Notify(pointer(300), complete=False)))
    outcome(world, hosts[1], FetchArc(100, 300, takeover=True))
    entries = tuple(Entry(name, "e", 1, b"late", LEASE_S) for name in ("k200", "k600"))

    assert outcome(world, hosts[1], Copy(entries, handover=True, onward=onward)) == Noted()

    copies = [body(request) for request in taker if isinstance(body(request), Copy)]
    assert copies == ([Copy(entries[:1], handover=True, onward=True)] if onward else [])
    assert [entry.value for entry in outcome(world, hosts[1], Get("k600")).entries] == [b"late"]


@pytest.mark.parametrize(
    ("answer", "noted"),
    [
        (Noted(), True),
        (NotMember("it was another one"), True),
        (WrongCluster("it is of another cluster"), True),
        (Busy("it leaves"), False),
        (None, True),
    ],
)
def test_a_late_copy_is_noted_when_the_taker_has_it_or_is_gone(world, answer, noted):
    """Else whoever sent it sends it again."""
    hosts = boot(world, [100, 800])
    member = hosts[1].members[0]
    scripted(world, "n300:1", lambda request: answer if isinstance(request.body, Copy) else _as_owner(request))
    member.serve(Request(1, "ringcast", 1, Notify(pointer(300), complete=False)))
    outcome(world, hosts[1], FetchArc(100, 300, takeover=True))
    late = Copy((Entry("k200", "e", 1, b"late", LEASE_S),), handover=True, onward=True)

    if noted:
        assert outcome(world, hosts[1], late) == Noted()
    else:
        with pytest.raises(CopiesMissing, match="which took it over from"):
            outcome(world, hosts[1], late)

    assert (member.reach.taker(200) is None) == (noted and answer != Noted())


def test_a_late_copy_goes_on_though_a_message_is_lost(world):
    """It is sent again."""
    hosts = boot(world, [100, 800])
    taker = scripted(world, "n300:1", _as_owner)
    hosts[1].members[0].serve(Request(1, "ringcast", 1, Notify(pointer(300), complete=False)))
    outcome(world, hosts[1], FetchArc(100, 300, takeover=True))
    lost: list[object] = []

    def lose(_sender: str, receiver: str, message: Request | Reply) -> bool:
        late = receiver == "n300:1" and isinstance(body(message), Copy)
        lost.extend([message] * late)
        return late and len(lost) == 1

    world.lost = lose
    late = Copy((Entry("k200", "e", 1, b"late", LEASE_S),), handover=True, onward=True)
    assert outcome(world, hosts[1], late) == Noted()
    assert [body(request) for request in taker if isinstance(body(request), Copy)] == [late]


def test_a_late_copy_comes_to_an_end_of_its_way(world):
    """It goes to nobody who lies further after its key, whatever that one was given once."""
    hosts = boot(world, [100, 800])
    taker = scripted(world, "n300:1", _as_owner)
    member = hosts[1].members[0]
    member.serve(Request(1, "ringcast", 1, Notify(pointer(700), complete=False)))
    member.reach.taken(300, pointer(300))
    assert member.reach.taker(600) == pointer(300)

    outcome(world, hosts[1], Copy((Entry("k600", "e", 1, b"late", LEASE_S),), handover=True, onward=True))

    assert not [request for request in taker if isinstance(body(request), Copy)]


def test_a_late_copy_for_the_member_itself_goes_nowhere(world):
    """Who had taken its arc over has been lost sight of."""
    hosts = boot(world, [100, 800])
    taker = scripted(world, "n300:1", _as_owner)
    hosts[1].members[0].reach.taken(100, pointer(300))

    outcome(world, hosts[1], Copy((Entry("k200", "e", 1, b"late", LEASE_S),), handover=True, onward=True))

    assert taker == []


@pytest.mark.parametrize("complete", [False, True])
def test_a_put_for_a_joiner_waits_until_that_one_has_it(world, complete):
    """It may have all but this by now; who has its records and is silent is not waited for."""
    hosts = boot(world, [100, 200, 600, 800])
    member = hosts[3].members[0]
    answers: list[object] = []

    def joiner(request: Request):
        if isinstance(request.body, Copy):
            answers.append(request.body)
            return Noted() if len(answers) > 2 else None
        return _as_owner(request)

    scripted(world, "n700:1", joiner)
    member.serve(Request(1, "ringcast", 1, Notify(pointer(700), complete=complete)))
    member.heard_at = -1000.0  # silent for long

    stored = outcome(world, hosts[3], Put("k650", "e", b"v", LEASE_S))

    assert stored.copies >= 3
    assert len(answers) == (1 if complete else 3)


def test_who_has_another_process_at_its_address_is_asked_no_more(world):
    """A taker that has ended; what it took is answered for here."""
    hosts = boot(world, [100, 800])
    scripted(world, "n300:1", lambda _request: WrongCluster("it is of another cluster"))
    scripted(world, "n500:1", _as_owner)
    member = hosts[1].members[0]
    put(world, hosts[0], "k200", b"v")
    member.serve(Request(1, "ringcast", 1, Notify(pointer(300), complete=False)))
    outcome(world, hosts[1], FetchArc(100, 300, takeover=True))
    member.serve(Request(1, "ringcast", 1, Notify(pointer(500), complete=False)))

    answer = outcome(world, hosts[1], Get("k200", acting=True))

    assert [entry.value for entry in answer.entries] == [b"v"]


def test_a_put_taken_for_a_joiner_goes_wherever_that_one_passed_its_arc(world):
    """The copy says so."""
    hosts = boot(world, [100, 800])
    joiner = scripted(world, "n300:1", _as_owner)
    hosts[1].members[0].serve(Request(1, "ringcast", 1, Notify(pointer(300), complete=False)))

    outcome(world, hosts[1], Put("k200", "e", b"v", LEASE_S, acting=True))
    outcome(world, hosts[1], Put("k600", "e", b"v", LEASE_S))

    copies = [body(request) for request in joiner if isinstance(body(request), Copy)]
    assert [(copy.entries[0].name, copy.handover, copy.onward) for copy in copies] == [("k200", True, True)]


def _as_owner(request: Request):
    match request.body:
        case Put():
            return Stored(77, 3)
        case Get():
            return Page((), more=False)
        case GetNeighbours():
            return Neighbours(pointer(request.to[0]), None, (pointer(800),), whole=False)
        case CompareArc():
            return Same(same=True)
    return Noted()
