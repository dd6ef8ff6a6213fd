"""What the simulated network does to frames, and that it does nothing else."""

from __future__ import annotations

import random

import pytest

from sim.network import Endpoint, Link, Network, constant, uniform
from sim.scheduler import Scheduler


class Net:
    """Two endpoints that note what arrives, and when."""

    def __init__(self, link: Link, seed: int = 1) -> None:
        self.scheduler = Scheduler()
        self.network = Network(self.scheduler, random.Random(seed), link)
        self.requests: list[tuple[float, bytes]] = []
        self.replies: list[tuple[float, bytes]] = []
        self.a = self.endpoint("a")
        self.b = self.endpoint("b")

    def endpoint(self, address: str) -> Endpoint:
        made = Endpoint(
            address,
            lambda _route, frame: self.requests.append((self.scheduler.now, frame)),
            lambda _route, frame: self.replies.append((self.scheduler.now, frame)),
        )
        self.network.attach(made)
        return made

    def send(self, count: int) -> None:
        for number in range(count):
            self.network.request(self.a, "b", b"%d" % number)
        self.scheduler.run_for(60.0)


def test_a_frame_takes_its_latency():
    """A request and a reply each arrive after the latency from one address to the other."""
    net = Net(Link(lambda _rng, source, _target: {"a": 0.25, "b": 1.5}[source]))

    net.network.request(net.a, "b", b"ask")
    net.network.reply(net.b, net.a, b"answer")
    net.scheduler.run_for(9.0)

    assert net.requests == [(0.25, b"ask")]
    assert net.replies == [(1.5, b"answer")]
    assert net.network.sent == 2


def test_equal_latencies_keep_the_order_and_jitter_breaks_it():
    """Frames of a constant link arrive in order; those of a jittery one overtake each other, and none is lost."""
    steady, jittery = Net(Link(constant(0.1))), Net(Link(uniform(0.0, 1.0)))
    steady.send(50)
    jittery.send(50)

    in_order = [b"%d" % number for number in range(50)]
    assert [frame for _, frame in steady.requests] == in_order
    arrived = [frame for _, frame in jittery.requests]
    assert arrived != in_order
    assert sorted(arrived) == sorted(in_order)


@pytest.mark.parametrize(("loss", "duplication", "least", "most"), [(0.3, 0.0, 620, 780), (0.0, 0.3, 1220, 1380)])
def test_loss_and_duplication_are_probabilities(loss, duplication, least, most):
    """Of a thousand frames about as many are lost or doubled as the link says."""
    net = Net(Link(constant(0.1), loss, duplication))
    net.send(1000)

    assert least <= len(net.requests) <= most


def test_a_split_cuts_both_ways_or_one():
    """Frames from one side to the other are lost until the split is mended; with one_way the other direction works."""
    net = Net(Link(constant(0.1)))
    net.network.split(["a"], ["b"], one_way=True)
    net.network.request(net.a, "b", b"lost")
    net.network.request(net.b, "a", b"arrives")
    net.network.split(["a"], ["b"])
    net.network.request(net.b, "a", b"lost too")
    net.network.mend()
    net.network.request(net.a, "b", b"arrives again")

    net.scheduler.run_for(1.0)

    assert [frame for _, frame in net.requests] == [b"arrives", b"arrives again"]


def test_a_clogged_link_holds_frames_and_lets_them_go_in_order():
    """Nothing passes a clogged link until it is unclogged; then everything does."""
    net = Net(Link(uniform(0.0, 0.1)))
    net.network.clog("a", "b")
    net.send(5)
    assert net.requests == []

    net.network.unclog("a", "b")
    net.scheduler.run_for(1.0)

    assert [frame for _, frame in net.requests] == [b"0", b"1", b"2", b"3", b"4"]


def test_what_is_sent_to_nobody_is_lost():
    """A frame to an address without an endpoint goes nowhere, and so does one under way when its endpoint leaves."""
    net = Net(Link(constant(0.1)))
    net.network.request(net.a, "c", b"nobody")
    net.network.request(net.a, "b", b"gone")
    net.network.reply(net.a, net.b, b"gone too")
    net.network.detach(net.b)

    net.scheduler.run_for(1.0)

    assert net.requests == net.replies == []


def test_a_reply_reaches_the_process_that_asked_and_no_later_one():
    """A route belongs to one life of a process: a restart under the same address does not hear its replies."""
    net = Net(Link(constant(0.1)))
    net.network.detach(net.a)
    net.endpoint("a")
    net.network.reply(net.b, net.a, b"late")
    net.network.request(net.b, "a", b"for whoever is there")

    net.scheduler.run_for(1.0)

    assert net.replies == []
    assert [frame for _, frame in net.requests] == [b"for whoever is there"]


def test_the_same_seed_draws_the_same_fate():
    """Two networks of one seed treat the same frames alike; another seed does not."""
    link = Link(uniform(0.0, 1.0), loss=0.2, duplication=0.2)
    first, again, other = Net(link, 5), Net(link, 5), Net(link, 6)
    for net in (first, again, other):
        net.send(50)

    assert first.requests == again.requests
    assert first.requests != other.requests
