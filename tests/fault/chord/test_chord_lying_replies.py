"""Whatever peers answer, as long as it can be read: operations end, with a result or a RingcastError."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chord import handover, joining, maintenance, repair
from chord.arcs import fetch_arc
from chord.asking import Ring
from chord.effects import Operation
from chord.errors import RingcastError
from chord.host import Host
from chord.identifiers import IdentifierSpace
from chord.kernel import Kernel
from chord.messages import (
    Entry,
    Failure,
    Hop,
    Neighbours,
    Noted,
    Owned,
    Page,
    Pointer,
    Pong,
    Put,
    Request,
    Same,
    Stored,
)
from chord.ring_state import RingState
from chord.round_trips import CEILING_S
from chord.settings import Settings
from tests.records import everything
from tests.unit.chord.worlds import World, scripted

SPACE = IdentifierSpace(10)
SETTINGS = Settings(space=SPACE)
ME, LIAR, OTHER = "me:1", "liar:1", "other:1"
NAMES = ["a", "b", "zz", "e\u0301", "a\x00b", "\u00e9"]

identifiers = st.one_of(st.integers(0, 1023), st.just(2**64 - 1), st.just(SPACE.member("ringcast", ME)))
pointers = st.builds(
    Pointer, identifiers, st.sampled_from([ME, LIAR, OTHER, "nobody:1", "", "\0", "x" * 255]), st.integers(0, 3)
)
rows = st.lists(pointers, max_size=4).map(tuple)
entries = st.builds(
    Entry,
    st.sampled_from(NAMES),
    st.sampled_from(["e", "f", "\0"]),
    st.sampled_from([0, 1, 2, 2**53]),
    st.binary(max_size=2),
    st.sampled_from([0.0, 5.0, 2_592_000.0]),
    st.sampled_from(["", "ear:1", ME]),
    st.booleans(),
    st.sampled_from([0.0, 50.0]),
)
failures = st.builds(
    Failure,
    st.sampled_from(
        ["Busy", "NotOwner", "NotMember", "Refused", "LookupFailed", "PeerUnreachable", "InvalidName", "?", ""]
    ),
    st.text(max_size=3),
    st.none() | pointers,
)
REPLIES: dict[type, st.SearchStrategy[Any]] = {
    Pong: st.builds(Pong),
    Hop: st.builds(Hop, pointers, st.booleans(), rows),
    Owned: st.builds(Owned, pointers),
    Neighbours: st.builds(Neighbours, pointers, st.none() | pointers, rows, st.booleans()),
    Noted: st.builds(Noted),
    Stored: st.builds(Stored, st.just(1), st.just(2**53)),
    Page: st.builds(Page, st.lists(entries, max_size=3).map(tuple), st.booleans()),
    Same: st.builds(Same, st.booleans()),
}


class Liars:
    """A member amid peers that answer every request with something of the right type, or of another."""

    def __init__(self, data: st.DataObject) -> None:
        self.world = World()
        self.host = Host(SETTINGS, ME, 1, random.Random(1))
        self.world.add(self.host.kernel)
        self.member = self.host.members[0]
        liar, other = Pointer(300, LIAR, 1), Pointer(700, OTHER, 1)
        self.member.active = True
        self.member.state = RingState(self.member.me, SPACE, 8, 3, (liar, other), False, other)
        for name in ("a", "b", "zz"):
            self.member.store.put(Put(name, "e", b"v", 60.0, notify="ear:1"), 0.0)

        def answer(request: Request) -> Any:
            if data.draw(st.integers(0, 9)) == 0:
                return data.draw(st.one_of(failures, st.none(), *REPLIES.values()))
            return data.draw(REPLIES[request.body.reply])

        for address in (LIAR, OTHER):
            scripted(self.world, address, answer)
        self.client = Kernel("ringcast", "client", random.Random(2))
        self.world.add(self.client)

    @property
    def ring(self) -> Ring:
        return Ring(self.client, [LIAR, OTHER, ME], SPACE, patience_s=1.0)

    def member_runs(self, operation: Operation[Any]) -> None:
        with suppress(RingcastError):
            self.world.finish(self.host.kernel, operation, 600.0)

    def client_runs(self, operation: Operation[Any]) -> None:
        with suppress(RingcastError):
            self.world.finish(self.client, operation, 600.0)


def _move(amid: Liars) -> Operation[Any]:
    return amid.host.healing.move(amid.member, amid.member.me, [Pointer(0, LIAR, 0)])


OF_A_MEMBER: dict[str, Callable[[Liars], Operation[Any]]] = {
    "join": lambda amid: joining.join(amid.member, [Pointer(0, LIAR, 0), Pointer(0, OTHER, 0)]),
    "stabilize": lambda amid: maintenance.stabilize(amid.member),
    "rectify": lambda amid: maintenance.rectify(amid.member),
    "enter": lambda amid: joining.enter(amid.member),
    "fix_finger": lambda amid: maintenance.fix_finger(amid.member),
    "take_over": lambda amid: handover.take_over(amid.member),
    "repair": lambda amid: repair.repair(amid.member),
    "hand_over": lambda amid: handover.hand_over(amid.member),
    "hand_back": lambda amid: handover.hand_back(amid.member, *amid.member.share()),
    "strays": lambda amid: amid.host.strays.go_around(amid.member, amid.host.kernel.now),
    "move": _move,
    "walk": lambda amid: amid.host.walk(),
}
FROM_OUTSIDE: dict[str, Callable[[Ring], Operation[Any]]] = {
    "locate": lambda ring: ring.locate("a"),
    "put": lambda ring: ring.put("a", "e", b"v", 5.0),
    "get": lambda ring: ring.get("a"),
    "delete": lambda ring: ring.delete("a", "e"),
    "members": lambda ring: ring.members(),
}


@pytest.mark.parametrize("operation", OF_A_MEMBER)
@settings(max_examples=40)
@given(st.data())
def test_an_operation_of_a_member_survives_any_answer(operation, data):
    """It ends, and whatever it started goes on without ending the process."""
    amid = Liars(data)

    amid.member_runs(OF_A_MEMBER[operation](amid))

    amid.world.run(at_most_s=1.0)


@pytest.mark.parametrize("operation", FROM_OUTSIDE)
@settings(max_examples=40)
@given(st.data())
def test_an_operation_from_outside_survives_any_answer(operation, data):
    """A client of liars gets a result or an error."""
    amid = Liars(data)

    amid.client_runs(FROM_OUTSIDE[operation](amid.ring))


@settings(max_examples=25)
@given(st.data())
def test_a_member_lives_on_amid_liars(data):
    """All that goes on for as long as a process lives survives some seconds of it."""
    amid = Liars(data)
    amid.member_runs(amid.host.keep(amid.member))
    amid.world.start(amid.host.kernel, amid.host.tend())
    amid.host._note_lost(Pointer(0, LIAR, 0))

    amid.world.run(at_most_s=4.0)

    # Of what goes on for as long as it lives, the next step is due soon: at the latest when a call has timed out.
    deadline = amid.host.kernel.deadline()
    assert deadline is not None and deadline - amid.world.now <= CEILING_S


NEAR, FAR = sorted("ab", key=lambda name: (SPACE.key(name) - 1) % SPACE.size)
PAGES = {
    "empty, and promises more": Page((), more=True),
    "the same again": Page((Entry("b", "e", 1, b"", 5.0), Entry("b", "e", 1, b"", 5.0)), more=True),
    "backwards": Page((Entry("b", "f", 1, b"", 5.0), Entry("b", "e", 1, b"", 5.0)), more=False),
    "backwards along the ring": Page((Entry(FAR, "e", 1, b"", 5.0), Entry(NEAR, "e", 1, b"", 5.0)), more=False),
    "no name to store under": Page((Entry("e\u0301", "e", 1, b"", 5.0),), more=False),
    "control character": Page((Entry("a\x00b", "e", 1, b"", 5.0),), more=False),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_that_is_none_ends_the_operation_only(page):
    """Of an arc: the error names the source and what is wrong, and nothing of the page is kept."""
    world = World()
    host = Host(SETTINGS, ME, 1, random.Random(1))
    world.add(host.kernel)
    scripted(world, LIAR, lambda _request: PAGES[page])
    member = host.members[0]

    with pytest.raises(RingcastError, match="the page of"):
        world.finish(host.kernel, fetch_arc(member, Pointer(300, LIAR, 1), 0, 0))

    assert everything(member.store, 0, 0, world.now) == []


@pytest.mark.parametrize("page", [*PAGES, "another record"])
def test_a_page_that_is_none_is_an_error_for_the_asker(page):
    """Of a record."""
    pages = {**PAGES, "another record": Page((Entry("z", "e", 1, b"", 5.0),), more=False)}
    world = World()
    liar = Pointer(300, LIAR, 1)
    answers = {Hop: Hop(liar, True, (liar,)), Owned: Owned(liar), Page: pages[page]}
    scripted(world, LIAR, lambda request: answers[request.body.reply])
    client = Kernel("ringcast", "client", random.Random(2))
    world.add(client)

    with pytest.raises(RingcastError, match=r"the page of|entries of another record"):
        world.finish(client, Ring(client, [LIAR], SPACE, patience_s=0.5).get("b"))
