"""What a client outside the ring does with contacts that are dead, silent, or of another cluster."""

from __future__ import annotations

import random

import pytest

from chord.asking import Ring
from chord.driven import Emit
from chord.errors import Busy, LookupFailed, NotOwner, PeerUnreachable, RingcastError, WrongCluster
from chord.kernel import Kernel
from chord.messages import ConfirmOwner, Entry, Get, Hop, NextHop, Owned, Page, Put, Request, Stored
from chord.trace import LookupTrace
from tests.unit.chord.worlds import SPACE, World, boot, host, pointer, scripted


def asker(world: World, cluster: str = "ringcast") -> Kernel:
    kernel = Kernel(cluster, "client", random.Random(7))
    world.add(kernel)
    return kernel


def test_the_members_are_found_through_a_contact_that_was_learned(world):
    """Every node that was named is gone; one that answered an earlier lookup is not."""
    boot(world, [100, 500, 800])
    kernel = asker(world)
    ring = Ring(kernel, ["n100:1"], SPACE)
    world.finish(kernel, ring.locate("k700"))
    world.crash("n100:1")

    views = world.finish(kernel, ring.members())

    assert {view.member.id for view in views} == {500, 800}


def test_whoever_answered_a_lookup_that_failed_is_a_contact_too(world):
    """The owner says nothing, and the node that was named dies while it is asked again: another one answers then."""
    hosts = boot(world, [100, 500, 800])
    kernel = asker(world)
    ring = Ring(kernel, ["n100:1"], SPACE, patience_s=20.0)
    outcome = world.start(kernel, ring.locate("k700"))
    world.crash("n800:1")
    world.run(lambda: ("n500:1", kernel.address) in {(sender, receiver) for sender, receiver, _ in world.sent})
    world.crash("n100:1")

    assert world.run(lambda: bool(outcome), 30.0)
    assert getattr(outcome[0], "owner", None) == hosts[1].members[0].me


def test_a_put_is_repeated_for_the_patience_and_no_longer(world):
    """The lookup before each attempt has no patience of its own on top."""
    owner = pointer(300)
    silent = False

    def answer(request: Request):
        if isinstance(request.body, NextHop) and not silent:
            return Hop(owner, True, (owner,))
        return Owned(owner) if isinstance(request.body, ConfirmOwner) and not silent else None

    scripted(world, "n300:1", answer)
    kernel = asker(world)
    began = world.now
    with pytest.raises(PeerUnreachable):
        world.finish(kernel, Ring(kernel, ["n300:1"], SPACE, patience_s=2.0).put("k250", "e", b"", 5.0))
    assert world.now - began < 3.5

    silent = True
    began = world.now
    with pytest.raises(LookupFailed):
        world.finish(kernel, Ring(kernel, ["n300:1"], SPACE, patience_s=2.0).put("k250", "e", b"", 5.0))
    assert world.now - began < 4.5


def test_all_attempts_at_a_put_have_one_serial_and_the_next_put_a_higher_one(world):
    """So that the owner can tell an attempt that comes late from a put."""
    refusals = 2

    def answer(request: Request):
        nonlocal refusals
        if isinstance(request.body, NextHop):
            return Hop(pointer(300), True, (pointer(300),))
        if isinstance(request.body, ConfirmOwner):
            return Owned(pointer(300))
        refusals -= 1
        return Busy("not now") if refusals >= 0 else Stored(1, 3)

    got = scripted(world, "n300:1", answer)
    kernel = asker(world)
    for operation in ("put", "delete"):
        ring = Ring(kernel, ["n300:1"], SPACE)
        world.finish(kernel, ring.put("k250", "e", b"", 5.0) if operation == "put" else ring.delete("k250", "e"))

    first, second, third, deletion = [request.body.serial for request in got if isinstance(request.body, Put)]
    assert first == second == third
    assert deletion[0] == first[0]
    assert deletion[1] > first[1]


def test_a_ring_of_another_cluster_is_no_ring_to_wait_for(world):
    """Asked or joined, it says so at once."""
    boot(world, [100])
    kernel = asker(world, "other")

    with pytest.raises(WrongCluster, match="belongs to cluster 'ringcast', the request to 'other'"):
        world.finish(kernel, Ring(kernel, ["n100:1"], SPACE, patience_s=30.0).locate("a"))

    assert world.now < 10.0


def test_a_node_does_not_try_for_long_to_join_another_cluster(world):
    """Unless somebody else among its bootstrap nodes may yet answer."""
    boot(world, [100])
    joiner = host(world, 400)
    joiner.kernel.cluster = "other"
    began = world.now

    with pytest.raises(WrongCluster, match="n400:1 could not join through n100:1: this process belongs to cluster"):
        world.finish(joiner.kernel, joiner.boot(["n100:1"], 30.0))
    assert world.now - began < 1.0

    with pytest.raises(RingcastError) as raised:
        world.finish(joiner.kernel, joiner.boot(["n100:1", "later:1"], 5.0))
    assert type(raised.value) is LookupFailed
    assert world.now - began > 5.0


# What a get asks at the end of its walk ----------------------------------------------------------------------------

VALUE = Page((Entry("k250", "e", 1, b"v", 5.0),), False)


def members(world: World, named: tuple[int, ...], answers: dict[int, object]) -> dict[int, list[Request]]:
    """A predecessor of the key that names these owners, and owners that answer a get as told."""
    scripted(world, "n100:1", lambda _request: Hop(pointer(100), True, tuple(pointer(each) for each in named)))
    return {each: scripted(world, f"n{each}:1", lambda _request, each=each: answers[each]) for each in answers}


def test_a_get_is_asked_of_the_owner_without_having_it_confirm_first(world):
    """It refuses what it does not own, so one exchange is enough."""
    got = members(world, (300,), {300: VALUE})
    kernel = asker(world)

    entries = world.finish(kernel, Ring(kernel, ["n100:1"], SPACE).get("k250"))

    assert entries == list(VALUE.entries)
    assert [type(request.body) for request in got[300]] == [Get]


def test_a_get_goes_to_the_nearer_owner_that_is_hinted_at(world):
    """As the last step of a lookup does."""
    got = members(world, (400,), {400: NotOwner("not mine", pointer(300)), 300: VALUE})
    kernel = asker(world)

    assert world.finish(kernel, Ring(kernel, ["n100:1"], SPACE).get("k250")) == list(VALUE.entries)
    assert [type(request.body) for request in got[300]] == [Get]


def test_a_get_of_a_dead_owner_is_answered_by_its_successor(world):
    """Once that one answers for it."""
    members(world, (300, 400), {400: VALUE})
    kernel = asker(world)

    assert world.finish(kernel, Ring(kernel, ["n100:1"], SPACE).get("k250")) == list(VALUE.entries)


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ({300: Busy("copying"), 400: VALUE}, "Busy"),
        ({400: NotOwner("not yet", pointer(300))}, "ok"),
    ],
)
def test_a_get_that_the_owner_does_not_answer_is_repeated_from_the_start(world, answers, outcome):
    """An owner that is busy, or that does not know yet of its predecessor's death, is no reason to ask somebody else.

    In the row of the walk the second is found, as in a lookup.
    """
    members(world, (300, 400), answers)
    kernel = asker(world)
    rows: list[LookupTrace] = []
    take = kernel.take

    def taking():
        outputs = take()
        rows.extend(output.row for output in outputs if isinstance(output, Emit))
        return outputs

    kernel.take = taking

    with pytest.raises((Busy, NotOwner)):
        world.finish(kernel, Ring(kernel, ["n100:1"], SPACE, patience_s=6.0).get("k250"))

    assert len(rows) > 1
    assert {row.outcome for row in rows} == {outcome}
    assert all(row.duration_us > 0 and row.owner_us >= 0 for row in rows)
