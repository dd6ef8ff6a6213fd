"""The kernel runs operations: every effect, every way that a call ends, and nothing else."""

from __future__ import annotations

import random
from math import inf

import pytest

from chord.driven import Emit, Respond, Send
from chord.effects import Call, call, cast, gather, sleep, spawn
from chord.errors import Busy, NotMember, NotOwner, PeerUnreachable, RemoteProtocolError, RingcastError, WrongCluster
from chord.kernel import STANDSTILL_S, Kernel
from chord.messages import (
    Copy,
    Failure,
    FetchArc,
    Get,
    NextHop,
    Noted,
    Notify,
    Ping,
    Pointer,
    Pong,
    Put,
    Reply,
    Request,
)
from chord.trace import EventTrace
from chord.wire import failure

PEER = Pointer(7, "peer:1", 3)
HERE = Pointer(1, "here:1", 1)


def kernel(serve=None) -> Kernel:
    made = Kernel("ringcast", "here:1", random.Random(1), *([serve] if serve else []))
    made.now = 100.0
    return made


def begin(one: Kernel, operation) -> list:
    """Start an operation; the list gets its result or error."""
    outcome: list = []
    one.start(operation, lambda result, error: outcome.append(result if error is None else error))
    return outcome


def sent(one: Kernel) -> list[Send]:
    return [output for output in one.take() if isinstance(output, Send)]


def reply(one: Kernel, call_id: int, body, now: float = 100.01) -> None:
    outputs = one.on_message(None, Reply(1, call_id, body), now)
    assert outputs == [], "a reply makes these operations end, not ask on"


# Calls -------------------------------------------------------------------------------------------------------------


def test_a_call_resumes_with_its_reply():
    """The request goes to the peer's address, for that member and incarnation; the operation gets the reply's body."""
    one = kernel()
    outcome = begin(one, call(PEER, Ping(), Pong))

    (request,) = sent(one)
    assert request.address == "peer:1"
    assert request.message == Request(1, "ringcast", request.message.call, Ping(), (7, 3))
    reply(one, request.message.call, Pong())

    assert outcome == [Pong()]
    assert one.round_trips.peer("peer:1").mean_s == pytest.approx(0.01)
    assert one.deadline() is None


def test_a_call_to_any_member_of_a_process_names_none():
    """Incarnation 0 means whichever member fits."""
    one = kernel()
    begin(one, call(Pointer(0, "peer:1", 0), Ping(), Pong))

    assert sent(one)[0].message.to is None


@pytest.mark.parametrize(("incarnation", "kind"), [(3, NotMember), (0, WrongCluster)])
def test_a_member_whose_address_another_cluster_has_is_none(incarnation, kind):
    """A process of that cluster was started where the member was; nobody knows that a contact ever was one."""
    one = kernel()
    outcome = begin(one, call(Pointer(7, "peer:1", incarnation), Ping(), Pong))

    reply(one, sent(one)[0].message.call, failure(WrongCluster("this process belongs to cluster 'other'")))

    assert [type(error) for error in outcome] == [kind]
    assert "this process belongs to cluster 'other'" in str(outcome[0])


def test_call_ids_differ_and_do_not_start_at_the_same_number():
    """Two calls have two ids, none is 0, and two processes begin elsewhere."""
    one, other = kernel(), Kernel("ringcast", "other:1", random.Random(2))
    for each in (one, other):
        begin(each, gather([call(PEER, Ping(), Pong), call(PEER, Ping(), Pong)]))

    ids = [send.message.call for each in (one, other) for send in sent(each)]
    assert len(set(ids)) == 4
    assert 0 not in ids


def test_a_call_times_out():
    """Without a reply the operation gets PeerUnreachable at the deadline and not before; the peer has one more."""
    one = kernel()
    outcome = begin(one, call(PEER, Ping(), Pong))
    assert one.deadline() == 100.5

    one.on_timer(100.49)
    assert outcome == []
    one.on_timer(100.5)

    assert [str(error) for error in outcome] == ["no reply from peer:1 within 0.50 s"]
    assert isinstance(outcome[0], PeerUnreachable)
    assert one.round_trips.peer("peer:1").timeouts == 1


def test_a_call_can_take_the_network_to_this_process_itself():
    """Somebody else may be reached at its address, so whoever wants to know asks from outside."""
    one = kernel()
    itself = Pointer(7, one.address, 1)

    def operation():
        return (yield Call(itself, Ping(), outward=True))

    begin(one, operation())

    assert [(out.address, out.message.to) for out in sent(one)] == [(one.address, (7, 1))]


@pytest.mark.parametrize(
    ("body", "asks"),
    [
        (Get("k"), True),
        (Put("k", "e", b"v", 60.0), True),
        (FetchArc(1, 2, takeover=True), True),
        (Copy((), handover=True, onward=True), True),
        (FetchArc(1, 2), False),
        (Copy((), handover=True), False),
        (Ping(), False),
    ],
)
def test_whoever_has_to_ask_others_is_given_longer(body, asks):
    """Twice as long as anybody else, and how long it takes is no round trip."""
    one = kernel()
    begin(one, call(PEER, Ping(), Pong))
    patience_s = one.deadline() - one.now
    one = kernel()
    begin(one, call(PEER, body, body.reply))
    assert one.deadline() - one.now == pytest.approx(2 * patience_s if asks else patience_s)

    (request,) = sent(one)
    one.on_message(None, Reply(1, request.message.call, Failure("Busy", "is busy")), one.now + 0.01)
    assert one.round_trips.peer("peer:1").mean_s == pytest.approx(0.0 if asks else 0.01)


def test_a_second_attempt_waits_twice_as_long():
    """A slow peer is asked again, under a new call id, before the call fails."""
    one = kernel()
    outcome = begin(one, call(PEER, Ping(), Pong, attempts=2))
    (first,) = sent(one)

    (second,) = one.on_timer(100.5)
    assert one.deadline() == 101.5
    assert second.message.call != first.message.call
    one.on_timer(101.5)

    assert isinstance(outcome[0], PeerUnreachable)
    assert one.round_trips.suspected("peer:1", 101.5)


def test_a_late_reply_is_measured_and_not_taken_for_the_next():
    """The reply to a call given up tells how slow the peer is, and answers nothing else."""
    one = kernel()
    first = begin(one, call(PEER, Ping(), Pong))
    (request,) = sent(one)
    one.on_timer(100.5)
    second = begin(one, call(PEER, Ping(), Pong))
    one.take()

    reply(one, request.message.call, Pong(), now=100.8)

    assert isinstance(first[0], PeerUnreachable)
    assert second == []
    assert one.round_trips.peer("peer:1").mean_s == pytest.approx(0.8)
    assert one.round_trips.peer("peer:1").timeouts == 0


def test_a_reply_comes_once():
    """A repeated reply, and one to a call never made, change nothing."""
    one = kernel()
    outcome = begin(one, call(PEER, Ping(), Pong))
    (request,) = sent(one)

    for _ in range(3):
        reply(one, request.message.call, Pong())
    reply(one, 123, Pong())

    assert outcome == [Pong()]


def test_a_refusal_is_raised_as_what_it_was():
    """A failure on the wire is the error of that kind in the operation, with its hint."""
    one = kernel()
    outcome = begin(one, call(PEER, Ping(), Pong))

    reply(one, sent(one)[0].message.call, failure(NotOwner("not mine", PEER)))

    assert isinstance(outcome[0], NotOwner)
    assert (str(outcome[0]), outcome[0].hint) == ("not mine", PEER)


def test_a_reply_of_another_type_is_the_peers_error():
    """A peer that answers a ping with a note has broken the protocol, and the text says how."""
    one = kernel()
    outcome = begin(one, call(PEER, Ping(), Pong))

    reply(one, sent(one)[0].message.call, Noted())

    assert isinstance(outcome[0], RemoteProtocolError)
    assert str(outcome[0]) == "peer:1 answered Noted, not Pong"


def test_a_busy_reply_is_not_asked_again_by_the_call():
    """Only silence is repeated: a peer that said no has answered."""
    one = kernel()
    outcome = begin(one, call(PEER, Ping(), Pong, attempts=3))

    reply(one, sent(one)[0].message.call, failure(Busy("later")))

    assert isinstance(outcome[0], Busy)
    assert sent(one) == []


# The other effects -------------------------------------------------------------------------------------------------


def test_a_cast_is_sent_and_not_waited_for():
    """Call id 0, to a member or to an address, and the operation goes on at once."""
    one = kernel()

    def operation():
        yield from cast(PEER, Notify(HERE))
        yield from cast("ear:1", Notify(HERE))
        return "done"

    assert begin(one, operation()) == ["done"]
    assert [(send.address, send.message.call, send.message.to) for send in sent(one)] == [
        ("peer:1", 0, (7, 3)),
        ("ear:1", 0, None),
    ]


def test_sleeping_takes_as_long_as_it_says():
    """An operation sleeps until its time, and a negative sleep ends at once."""
    one = kernel()

    def operation():
        yield from sleep(-1.0)
        yield from sleep(2.0)
        return one.now

    outcome = begin(one, operation())
    assert one.deadline() == 100.0
    one.on_timer(100.0)
    one.on_timer(101.9)
    assert outcome == []
    one.on_timer(102.0)

    assert outcome == [102.0]


def test_gathering_keeps_the_order_and_the_errors():
    """Results come in the order of the operations, whoever ended first; errors are among them."""
    one = kernel()

    def fails():
        yield from sleep(1.0)
        raise Busy("no")

    def quick():
        return "quick"
        yield

    def late():
        yield from sleep(3.0)
        return "late"

    outcome = begin(one, gather([late(), fails(), quick()]))
    one.on_timer(101.0)
    assert outcome == []
    one.on_timer(103.0)

    assert outcome[0][0::2] == ["late", "quick"]
    assert isinstance(outcome[0][1], Busy)
    assert begin(one, gather([])) == [[]]


def test_a_spawned_operation_goes_on_by_itself():
    """The parent does not wait, and an error of the child stays with it."""
    one = kernel()
    seen = []

    def child():
        yield from sleep(1.0)
        seen.append(one.now)
        raise Busy("nobody hears this")

    def parent():
        yield from spawn(child())
        return "at once"

    assert begin(one, parent()) == ["at once"]
    one.on_timer(101.0)
    assert seen == [101.0]


@pytest.mark.parametrize("by", ["message", "timer"])
@pytest.mark.parametrize(("late_s", "stood_still"), [(STANDSTILL_S - 0.1, 0), (STANDSTILL_S + 0.1, 1)])
def test_a_process_that_stood_still_is_told_so_before_anything_else(by, late_s, stood_still):
    """Once, however much has queued up meanwhile."""
    seen: list[str] = []
    one = kernel(lambda _request: seen.append("served"))
    one.stood_still = lambda: seen.append("stood still")
    begin(one, sleep(50.0))
    woken = one.deadline() + late_s

    for _ in range(3):
        if by == "message":
            one.on_message(None, Request(1, "ringcast", 0, Ping()), woken)
        else:
            one.on_timer(woken)

    assert seen == ["stood still"] * stood_still + ["served"] * (3 if by == "message" else 0)


def test_what_is_asked_for_having_stood_still_is_given_its_time():
    """It is asked at the time of waking."""
    one = kernel()
    one.stood_still = lambda: one.start(call(PEER, Ping(), Pong))
    begin(one, sleep(5.0))

    one.on_timer(200.0)

    assert one.deadline() > 200.0
    assert one.round_trips.peer("peer:1").timeouts == 0


def test_a_call_that_was_answered_is_nothing_to_be_late_for():
    """Whether or not anybody has asked for the deadline since."""
    one = kernel()
    seen: list[str] = []
    one.stood_still = lambda: seen.append("stood still")
    begin(one, call(PEER, Ping(), Pong))
    (request,) = sent(one)
    reply(one, request.message.call, Pong())

    one.on_message(None, Request(1, "ringcast", 0, Ping()), 200.0)

    assert seen == []


def test_a_process_with_nothing_to_do_has_not_stood_still():
    """Nothing was due."""
    seen: list[str] = []
    one = kernel(lambda _request: None)
    one.stood_still = lambda: seen.append("stood still")

    one.on_message(None, Request(1, "ringcast", 0, Ping()), one.now + 3600.0)

    assert seen == []


def test_nothing_is_due_before_it_says_so():
    """`due` is never later than the deadline; asking for the deadline, or passing it, makes the two the same."""
    one = kernel()
    assert one.due == inf
    outcome = begin(one, call(PEER, Ping(), Pong))
    begin(one, sleep(5.0))
    assert one.due == one.deadline() == 100.5

    reply(one, sent(one)[0].message.call, Pong())
    assert outcome == [Pong()]
    assert one.due == 100.5  # it has not looked yet

    assert one.deadline() == one.due == 105.0
    one.on_timer(105.0)
    assert one.due == inf


def test_what_is_no_effect_is_an_error_that_says_where():
    """Yielding anything else raises TypeError with the function and the line."""
    one = kernel()

    def careless():
        yield call(PEER, Ping(), Pong)

    line = careless.__code__.co_firstlineno + 1
    with pytest.raises(TypeError, match=rf"operation .*careless yielded <generator .* at line {line}; only Call, Cast"):
        one.start(careless())

    assert begin(one, gather([])) == [[]]


def test_a_defect_is_not_swallowed():
    """An exception that is no RingcastError ends the process, not only the operation."""

    def broken():
        yield from sleep(0.0)
        raise KeyError("ours to fix")

    one = kernel()
    begin(one, broken())

    with pytest.raises(KeyError):
        one.on_timer(100.0)


def test_an_error_reaches_whoever_started_the_operation():
    """A RingcastError that an operation lets through is its outcome."""
    one = kernel()

    def fails():
        raise Busy("no")
        yield

    (error,) = begin(one, fails())
    assert isinstance(error, RingcastError)


# Requests ----------------------------------------------------------------------------------------------------------


def test_a_request_is_answered_along_its_route():
    """The reply has the request's call id and goes back where it came from."""
    one = kernel(lambda _request: Pong())

    assert one.on_message("route", Request(1, "ringcast", 5, Ping()), 101.0) == [Respond("route", Reply(1, 5, Pong()))]


def test_a_refusal_is_answered():
    """What the handler raises is the answer."""

    def serve(_request):
        raise NotOwner("not mine", PEER)

    (respond,) = kernel(serve).on_message("route", Request(1, "ringcast", 5, Ping()), 101.0)

    assert respond.message.body == Failure("NotOwner", "not mine", PEER)


def test_a_cast_is_not_answered():
    """Neither a result nor an error goes back for call 0."""

    def serve(request):
        if isinstance(request.body, Ping):
            raise Busy("no")
        return Noted()

    one = kernel(serve)

    assert one.on_message("route", Request(1, "ringcast", 0, Ping()), 101.0) == []
    assert one.on_message("route", Request(1, "ringcast", 0, Notify(PEER)), 101.0) == []


def test_an_answer_may_take_its_time():
    """A handler that returns an operation is answered for when that ends, with its result or its error."""

    def slow(body):
        yield from sleep(1.0)
        if isinstance(body, NextHop):
            raise Busy("after all")
        return Pong()

    one = kernel(lambda request: slow(request.body))
    assert one.on_message("a", Request(1, "ringcast", 5, Ping()), 100.0) == []
    assert one.on_message("b", Request(1, "ringcast", 6, NextHop(1)), 100.0) == []

    assert one.on_timer(101.0) == [
        Respond("a", Reply(1, 5, Pong())),
        Respond("b", Reply(1, 6, Failure("Busy", "after all"))),
    ]


def test_another_cluster_is_told_so():
    """A request of another cluster is refused before any handler sees it."""
    one = kernel(lambda _request: pytest.fail("it was served"))

    (respond,) = one.on_message("route", Request(1, "other", 5, Ping()), 101.0)

    assert respond.message.body.text == "this process belongs to cluster 'ringcast', the request to 'other'"


def test_a_call_to_ones_own_process_takes_no_socket():
    """Members of one process ask one another inside the kernel, errors and slow answers included."""

    def slow():
        yield from sleep(0.2)
        return Pong()

    one = kernel(lambda request: slow() if isinstance(request.body, Ping) else failing())

    def failing():
        raise Busy("no")

    ping, hop = begin(one, call(HERE, Ping(), Pong)), begin(one, call(HERE, NextHop(1), Pong))

    assert one.take() == []
    assert isinstance(hop[0], Busy)
    assert ping == []
    one.on_timer(100.2)
    assert ping == [Pong()]


def test_trace_rows_come_out_with_the_rest():
    """What an operation keeps is an output, stamped with wall-clock time."""
    one = kernel()
    one.epoch_offset_s = 1_000.0
    row = EventTrace(kind="join", node=1, address="here:1", at_us=one.epoch_us(100.5))

    one.emit(row)

    assert one.take() == [Emit(row)]
    assert row.at_us == 1_100_500_000
    assert one.take() == []
