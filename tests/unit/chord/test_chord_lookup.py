"""The iterative lookup among peers that are dead, wrong, or lying: it ends, with the right owner if there is one."""

from __future__ import annotations

import random

import pytest

from chord.errors import Busy, LookupFailed, NotMember, NotOwner
from chord.kernel import Kernel
from chord.limits import MAX_AVOIDED, MAX_HOPS, MAX_LOOKUP_S, MAX_NAMED
from chord.lookup import Walk, find_owner, find_predecessor
from chord.messages import ConfirmOwner, Hop, NextHop, Owned, Pong
from chord.round_trips import CEILING_S
from tests.unit.chord.worlds import SPACE, World, boot, host, pointer, scripted

KEY = 500


@pytest.fixture
def asker(world) -> Kernel:
    kernel = Kernel("ringcast", "asker", random.Random(5))
    world.add(kernel)
    return kernel


def hop(identifier: int, *candidates: int, final: bool = False) -> Hop:
    return Hop(pointer(identifier), final, tuple(pointer(each) for each in candidates))


def peer(world: World, identifier: int, hop_answer=None, owner_answer=None) -> list:
    """A member that answers both steps as told; None: not at all."""

    def answer(request):
        return hop_answer if isinstance(request.body, NextHop) else owner_answer

    return scripted(world, f"n{identifier}:1", answer)


def look(world: World, asker: Kernel, *via: int, key: int = KEY) -> Walk:
    walk = Walk(key)
    world.finish(asker, find_owner(asker, SPACE, [pointer(each) for each in via], walk), 1_000.0)
    return walk


def owned(identifier: int) -> Owned:
    return Owned(pointer(identifier))


def test_the_path_goes_from_hop_to_hop_to_the_owner(world, asker):
    """Each member names the next; hops are the forwards after the first; the owner itself confirms."""
    peer(world, 100, hop(100, 300))
    peer(world, 300, hop(300, 400))
    peer(world, 400, hop(400, 520, 600, final=True))
    peer(world, 520, None, owned(520))

    walk = look(world, asker, 100)

    assert walk.owner == pointer(520)
    assert [each.id for each in walk.path] == [100, 300, 400]
    assert (walk.hops, walk.timeouts) == (2, 0)
    assert [exchange.node for exchange in walk.exchanges] == [100, 300, 400, 520]
    assert walk.started_at < walk.named_at < walk.ended_at


def test_a_dead_hop_costs_one_timeout_and_the_next_lower_is_asked(world, asker):
    """The candidate nearest to the key is dead: the one below it goes on."""
    peer(world, 100, hop(100, 450, 300))
    peer(world, 300, hop(300, 520, final=True))
    peer(world, 520, None, owned(520))

    walk = look(world, asker, 100)

    assert walk.owner == pointer(520)
    assert [exchange.node for exchange in walk.exchanges if exchange.timed_out] == [450]
    assert [each.id for each in walk.path] == [100, 300]
    assert walk.hops == 1


@pytest.mark.parametrize("error", [NotMember("gone"), Busy("joining"), NotOwner("?"), LookupFailed("lost")])
def test_a_hop_that_refuses_is_passed_over(world, asker, error):
    """Whatever a candidate says instead of naming the next one, another is asked."""
    peer(world, 100, hop(100, 450, 300))
    peer(world, 450, error)
    peer(world, 300, hop(300, 520, final=True))
    peer(world, 520, None, owned(520))

    assert look(world, asker, 100).owner == pointer(520)


def test_a_dead_contact_is_followed_by_the_next(world, asker):
    """Contacts are tried in the order given."""
    peer(world, 300, hop(300, 520, final=True))
    peer(world, 520, None, owned(520))

    walk = look(world, asker, 100, 200, 300)

    assert [(exchange.node, exchange.timed_out) for exchange in walk.exchanges][:2] == [(100, True), (200, True)]
    assert walk.hops == 0


def test_a_dead_owner_is_followed_by_its_successor(world, asker):
    """The owner does not answer twice: the next that its predecessor named does."""
    peer(world, 100, hop(100, 520, 600, 700, final=True))
    peer(world, 600, None, owned(600))

    walk = look(world, asker, 100)

    assert walk.owner == pointer(600)
    assert walk.timeouts == 2


def leaving_out(identifier: int, members: list[int], named: int, owner: bool = False):
    """How a member answers that names the first few of `members` which it is not told to leave out."""

    def answer(request):
        if not isinstance(request.body, NextHop):
            return None
        return hop(identifier, *[each for each in members if each not in request.body.avoid][:named], final=owner)

    return answer


def test_owners_that_are_all_dead_are_followed_by_those_after_them(world, asker):
    """None of the owners named answers: their predecessor is asked who comes next, and they are left out."""
    asked = scripted(world, "n100:1", leaving_out(100, [520, 600, 700, 800, 900], 2, owner=True))
    peer(world, 900, None, owned(900))

    walk = look(world, asker, 100)

    assert walk.owner == pointer(900)
    assert [request.body.avoid for request in asked] == [(), (520, 600), (520, 600, 700, 800)]
    assert [each.id for each in walk.path] == [100]
    assert walk.hops == 0


def test_owners_that_never_end_are_given_up(world, asker):
    """A predecessor that always names more of those that have left is asked a bounded number of times."""
    members = list(range(500, 900))
    asked = scripted(world, "n100:1", leaving_out(100, members, 4, owner=True))
    for gone in members:
        peer(world, gone, None, NotMember("gone"))

    with pytest.raises(LookupFailed, match="no owner of key"):
        look(world, asker, 100)

    assert [len(request.body.avoid) for request in asked] == list(range(0, MAX_AVOIDED + 1, 4))


def test_no_more_owners_are_believed_than_an_honest_member_names(world, asker):
    """A predecessor that names hundreds of owners costs the exchanges of as many as anybody may name."""
    peer(world, 100, hop(100, *range(501, 901), final=True))
    peer(world, 520, None, NotMember("gone"))
    for gone in (*range(501, 520), *range(521, 901)):
        peer(world, gone, None, NotMember("gone"))
    walk = Walk(KEY)

    with pytest.raises(LookupFailed, match="no owner of key"):
        world.finish(asker, find_owner(asker, SPACE, [pointer(100)], walk), 1_000.0)

    assert [each.id for each in walk.owners] == list(range(501, 501 + MAX_NAMED))
    assert len(walk.exchanges) == 1 + MAX_NAMED + 1


def test_further_owners_are_taken_only_from_a_predecessor(world, asker):
    """One that takes itself for the predecessor no more names hops, and no owners."""
    answers = iter((hop(100, 520, final=True), hop(100, 530)))
    scripted(world, "n100:1", lambda _request: next(answers))
    asked = peer(world, 530, None, owned(530))

    with pytest.raises(LookupFailed, match="no owner of key"):
        look(world, asker, 100)

    assert asked == []


def test_owners_named_again_are_not_asked_again(world, asker):
    """Those found dead that the predecessor names in spite of that are of no account."""
    peer(world, 100, hop(100, 520, final=True))
    asked = peer(world, 520)

    with pytest.raises(LookupFailed, match="no reply"):
        look(world, asker, 100)

    assert len(asked) == 2


def test_the_dead_are_told_up_to_a_limit(world, asker):
    """Contacts that have left name as many others: no request tells of more than MAX_AVOIDED."""
    names = iter(range(101, 499))
    first = scripted(world, "n100:1", lambda _request: hop(100, *[next(names) for _ in range(4)]))
    for gone in range(101, 499):
        peer(world, gone, NotMember("gone"))

    with pytest.raises(LookupFailed):
        look(world, asker, 100)

    assert max(len(request.body.avoid) for request in first) == MAX_AVOIDED


def test_the_nearest_candidate_is_asked_whoever_named_it(world, asker):
    """One that was named earlier and lies nearer to the key comes before those that a farther member names."""
    peer(world, 100, hop(100, 450, 400, 200))
    scripted(world, "n400:1", leaving_out(400, [420, 410], 1))
    peer(world, 410, hop(410, 520, final=True))
    peer(world, 520, None, owned(520))

    walk = look(world, asker, 100)

    assert [exchange.node for exchange in walk.exchanges if exchange.timed_out] == [450, 420]
    assert [each.id for each in walk.path] == [100, 400, 410]


def test_the_dead_that_lie_behind_are_left_out_no_more(world, asker):
    """What is to be left out is bounded: those that lie farther than whoever answered are of no account."""
    peer(world, 100, hop(100, 200, 150))
    peer(world, 150, hop(150, 300))
    nearer = scripted(world, "n300:1", leaving_out(300, [400, 350], 1))
    peer(world, 350, hop(350, 520, final=True))
    peer(world, 520, None, owned(520))

    assert look(world, asker, 100).owner == pointer(520)
    assert [request.body.avoid for request in nearer] == [(200,), (400,)]


def test_a_nearer_owner_is_taken_from_the_hint(world, asker):
    """A member has joined before the owner that the predecessor knows: the hint leads to it."""
    peer(world, 100, hop(100, 600, final=True))
    peer(world, 600, None, NotOwner("not mine", pointer(550)))
    peer(world, 550, None, NotOwner("not mine", pointer(510)))
    peer(world, 510, None, owned(510))

    assert look(world, asker, 100).owner == pointer(510)


def test_a_hint_at_a_dead_member_leaves_the_one_that_gave_it(world, asker):
    """The owner's predecessor, asked once more, is dead, and the owner does not know yet: the owner it is."""
    peer(world, 100, hop(100, 520, 600, final=True))
    peer(world, 600, None, NotOwner("not mine", pointer(520)))

    walk = look(world, asker, 100)

    assert walk.owner == pointer(600)
    assert [exchange.node for exchange in walk.exchanges] == [100, 520, 520, 600, 520, 600]


def test_a_hint_at_a_slow_member_is_followed_once_more(world, asker):
    """The owner did not answer in time, and its successor denies the key: the owner is asked again."""
    peer(world, 100, hop(100, 520, 600, final=True))
    asked = peer(world, 520, None, None)

    def deny(_request):
        if len(asked) == 2:
            peer(world, 520, None, owned(520))
        return NotOwner("not mine", pointer(520))

    scripted(world, "n600:1", deny)

    assert look(world, asker, 100).owner == pointer(520)


def test_a_hint_away_from_the_key_is_no_hint(world, asker):
    """A member that names somebody farther off is passed over."""
    peer(world, 100, hop(100, 600, 700, final=True))
    peer(world, 600, None, NotOwner("not mine", pointer(800)))
    peer(world, 700, None, owned(700))

    assert look(world, asker, 100).owner == pointer(700)


def test_members_that_send_the_asker_round_in_a_circle_are_asked_once_each(world, asker):
    """Only what is nearer than whoever says it is followed, so a lookup ends whatever the tables say."""
    first, second = peer(world, 100, hop(100, 300, 100)), peer(world, 300, hop(300, 100, 300, 50))

    with pytest.raises(LookupFailed, match=r"failed after \d+ exchanges"):
        look(world, asker, 100)

    assert len(first) <= 2 and len(second) == 1


def test_a_liar_that_invents_members_is_given_up(world, asker):
    """A member that always knows somebody nearer costs MAX_HOPS exchanges, no more."""
    count = 0

    def answer(_request):
        nonlocal count
        count += 1
        return Hop(pointer(count, "liar:1"), False, (pointer((count + 1) % 1024, "liar:1", count),))

    got = scripted(world, "liar:1", answer)

    with pytest.raises(LookupFailed, match=f"{MAX_HOPS} exchanges did not reach it"):
        world.finish(asker, find_owner(asker, SPACE, [pointer(0, "liar:1", 0)], Walk(1000)), 1_000.0)

    assert len(got) == MAX_HOPS


def test_no_more_are_believed_than_an_honest_member_names(world, asker):
    """A liar that names hundreds of the dead costs the time-outs of as many as anybody may name."""
    peer(world, 100, hop(100, *range(110, 410)))
    peer(world, 420, hop(420, 520, final=True))
    peer(world, 520, None, owned(520))

    walk = look(world, asker, 100, 420)

    assert walk.owner == pointer(520)
    assert walk.timeouts == MAX_NAMED


def test_a_lookup_among_the_dead_ends_in_time(world, asker):
    """One who names ever more of the dead holds nobody longer than a lookup may take."""
    named = iter(range(101, 400))
    scripted(world, "n100:1", lambda _request: hop(100, *[next(named) for _ in range(4)]))
    asker.round_trips.peer("n100:1").observe(0.001)

    with pytest.raises(LookupFailed, match="30 s did not reach it"):
        look(world, asker, 100)

    assert world.now <= MAX_LOOKUP_S + 2 * CEILING_S


def test_hints_that_never_end_are_given_up(world, asker):
    """An owner that always names a nearer one is followed a bounded number of times."""
    near = 1023

    def answer(request):
        nonlocal near
        if isinstance(request.body, NextHop):
            return Hop(pointer(100), True, (pointer(1023, "liar:1"),))
        near -= 1
        return NotOwner("not mine", pointer(near, "liar:1"))

    got = scripted(world, "liar:1", answer)

    with pytest.raises(LookupFailed, match=rf"no owner of key .*: {MAX_HOPS} exchanges were not enough: nobody"):
        world.finish(asker, find_owner(asker, SPACE, [pointer(0, "liar:1", 0)], Walk(KEY)), 1_000.0)

    assert len(got) == MAX_HOPS


def test_an_owner_among_the_dead_is_not_looked_for_for_ever(world, asker):
    """Owners that time out one after the other hold nobody longer than a lookup may take."""
    scripted(world, "n100:1", leaving_out(100, list(range(500, 900)), 4, owner=True))

    with pytest.raises(LookupFailed, match=r"no owner of key .*: 30 s were not enough: no reply"):
        look(world, asker, 100)

    assert world.now <= MAX_LOOKUP_S + 2 * CEILING_S


def test_an_answer_of_another_type_is_passed_over(world, asker):
    """A pong is no hop."""
    peer(world, 100, Pong())
    peer(world, 300, hop(300, 520, final=True))
    peer(world, 520, None, owned(520))

    assert look(world, asker, 100, 300).owner == pointer(520)


def test_a_predecessor_that_names_nobody(world, asker):
    """A final answer without an owner is an error that says so."""
    asked = peer(world, 100, hop(100, final=True))

    with pytest.raises(LookupFailed, match="no owner of key 00000000000001f4 answered: its predecessor named nobody"):
        look(world, asker, 100)

    assert len(asked) == 1


def test_without_contacts_there_is_nothing_to_ask(world, asker):
    """The error says what is missing."""
    with pytest.raises(LookupFailed, match="no contact was given"):
        look(world, asker)


def test_a_suspected_member_is_asked_last(world, asker):
    """A candidate that has timed out twice lately is passed over while there is another."""
    asker.round_trips.peer("n450:1").timed_out(0.0)
    asker.round_trips.peer("n450:1").timed_out(0.0)
    peer(world, 100, hop(100, 450, 300))
    peer(world, 300, hop(300, 520, final=True))
    suspect = peer(world, 450, hop(450, 520, final=True))
    peer(world, 520, None, owned(520))

    assert [each.id for each in look(world, asker, 100).path] == [100, 300]
    assert suspect == []


def test_a_suspected_member_is_asked_when_there_is_no_other(world, asker):
    """Suspicion is no proof."""
    for _ in range(2):
        asker.round_trips.peer("n450:1").timed_out(0.0)
    peer(world, 100, hop(100, 450))
    peer(world, 450, hop(450, 520, final=True))
    peer(world, 520, None, owned(520))

    assert look(world, asker, 100).owner == pointer(520)


def test_a_suspected_owner_is_passed_over_for_its_successor(world, asker):
    """Its successor knows whether it answers for the key."""
    for _ in range(2):
        asker.round_trips.peer("n520:1").timed_out(0.0)
    got = peer(world, 520, None, owned(520))
    peer(world, 100, hop(100, 520, 600, final=True))
    peer(world, 600, None, owned(600))

    assert look(world, asker, 100).owner == pointer(600)
    assert got == []


def test_the_predecessor_is_found_without_asking_the_owner(world, asker):
    """What a joiner needs: nobody is asked to confirm."""
    peer(world, 100, hop(100, 520, final=True))
    walk = Walk(KEY)

    answer = world.finish(asker, find_predecessor(asker, SPACE, [pointer(100)], walk))

    assert answer.member == pointer(100)
    assert walk.owners == (pointer(520),)
    assert walk.owner is None


@pytest.mark.parametrize("size", [1, 2, 3, 9, 20])
def test_real_members_lead_to_the_right_owner(world, asker, size):
    """In a settled ring every key leads from every member to the first member at or after it."""
    identifiers = [(97 * number) % 1021 for number in range(1, size + 1)]
    hosts = boot(world, identifiers)

    for key in range(0, 1024, 41):
        expected = min(identifiers, key=lambda identifier: (identifier - key) % 1024)
        for each in hosts[:4]:
            walk = Walk(key)
            world.finish(asker, find_owner(asker, SPACE, [each.members[0].me], walk))
            assert walk.owner is not None and walk.owner.id == expected
            assert walk.timeouts == 0


def test_a_member_that_has_not_joined_is_no_hop(world, asker):
    """It says that it is still joining, and another contact is asked."""
    joining = host(world, 100).members[0].me
    peer(world, 300, hop(300, 520, final=True))
    got = peer(world, 520, None, owned(520))

    walk = Walk(KEY)
    world.finish(asker, find_owner(asker, SPACE, [joining, pointer(300)], walk))

    assert [exchange.node for exchange in walk.exchanges] == [100, 300, 520]
    assert got[0].body == ConfirmOwner(KEY)
