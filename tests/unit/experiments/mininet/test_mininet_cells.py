"""What the options of the command ask for: cells, seats and faults."""

from __future__ import annotations

import pytest

from chord.errors import LocalProtocolError
from experiments.mininet.cells import Options, cells, parse_fault, parse_numbers
from experiments.mininet.course import check_cell
from experiments.mininet.seats import seat, topic_of
from experiments.mininet.shaping import Shape
from experiments.mininet.workload import lookup_rate
from experiments.sweep.cells import Cell, Fault


def options(**changed) -> Options:
    plain = {
        "hosts": 16,
        "topology": "single",
        "lookups": None,
        "mode": "iterative",
        "dissemination": (),
        "publishers": (1,),
        "subscribers": (1,),
        "samples": 100,
        "rate": 20.0,
        "payload_bytes": 100,
        "zones": 1,
        "replicas": 3,
        "vnodes": 1,
        "successors": 8,
        "bw_mbit": None,
        "delay_ms": None,
        "faults": (),
        "capture": False,
        "seed": 1,
    }
    return Options(**{**plain, **changed})


def cell(**changed) -> Cell:
    return Cell(**{"name": "x", "place": "mininet", "nodes": 4, "lookups": 100, **changed})


def test_without_samples_every_host_is_a_ring_node():
    """Sixteen hosts are a ring of sixteen, asked two thousand times."""
    (only,) = cells(options())

    assert (only.nodes, only.lookups, only.dissemination) == (16, 2000, None)
    assert seat(only).roles()["h16"] == "node:15"


def test_growing_clients_meet_the_same_ring():
    """Each number of clients is a cell, in each dissemination; the ring is as large in all of them."""
    grown = cells(options(hosts=16, dissemination=("direct", "brokered"), publishers=(1, 2, 4), subscribers=(1, 2, 4)))

    assert [each.name for each in grown] == [
        "direct-001-001",
        "brokered-001-001",
        "direct-002-002",
        "brokered-002-002",
        "direct-004-004",
        "brokered-004-004",
    ]
    assert {each.nodes for each in grown} == {16 - 1 - 3 - 8}
    assert max(seat(each).count for each in grown) == 16
    assert {each.lookups for each in grown} == {0}


def test_one_number_of_publishers_meets_growing_subscribers():
    """The number that is alone stays."""
    grown = cells(options(dissemination=("direct",), publishers=(1,), subscribers=(1, 2, 8)))

    assert [(each.publishers, each.subscribers) for each in grown] == [(1, 1), (1, 2), (1, 8)]


def test_a_tree_is_laid_out_alike_for_all_cells():
    """The fan-out comes from all hosts, not from those that one cell needs."""
    grown = cells(options(hosts=16, topology="tree", dissemination=("direct",), subscribers=(1, 4)))

    assert {each.topology for each in grown} == {"tree,depth=2,fanout=4"}


def test_a_tree_that_is_said_brings_its_hosts():
    """Without --hosts a tree is full."""
    (only,) = cells(options(hosts=None, topology="tree,depth=2,fanout=3"))

    assert only.nodes == 9


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"hosts": 5, "dissemination": ("brokered",)}, "6 hosts are taken by brokers and clients; 5 leave none"),
        ({"capture": True}, "--capture needs samples on the wire"),
        ({"mode": "random"}, "--mode is iterative or recursive"),
        ({"dissemination": ("both",)}, "--dissemination is direct, brokered"),
        ({"dissemination": ("direct",), "publishers": (1, 2), "subscribers": (1, 2, 3)}, "do not pair"),
        ({"hosts": 17, "topology": "tree,depth=2,fanout=4"}, "room for 16 hosts, not for 17"),
    ],
)
def test_what_cannot_be_is_refused(changed, text):
    """One line says why."""
    with pytest.raises(LocalProtocolError, match=text):
        cells(options(**changed))


def test_seats_follow_each_other():
    """Ring nodes, ZooKeeper, brokers zone by zone, publishers, subscribers; no host twice."""
    seats = seat(cell(nodes=2, dissemination="brokered", publishers=1, subscribers=2, zones=2, replicas=1))

    assert seats.roles() == {
        "h1": "node:0",
        "h2": "node:1",
        "h3": "zookeeper",
        "h4": "broker:0",
        "h5": "broker:1",
        "h6": "publisher:0",
        "h7": "subscriber:0",
        "h8": "subscriber:1",
    }


@pytest.mark.parametrize(
    ("publishers", "subscribers", "topics"),
    [(2, 2, {"lab/1", "lab/2"}), (1, 3, {"lab/1"}), (3, 1, {"lab/1"}), (2, 4, {"lab/1", "lab/2"})],
)
def test_every_topic_has_both_sides(publishers, subscribers, topics):
    """Pairs, one to many and many to one; nobody publishes or listens alone."""
    assert {topic_of(each, publishers, subscribers) for each in range(publishers)} == topics
    assert {topic_of(each, publishers, subscribers) for each in range(subscribers)} == topics


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("kill:node:3@5", Fault(kind="kill", at_s=5.0, target="node:3")),
        ("link-down:link:s1-h4@8.5s", Fault(kind="link_down", at_s=8.5, target="link:s1-h4")),
        ("split:0.25@3", Fault(kind="split", at_s=3.0, target="0.25")),
        ("heal@9", Fault(kind="heal", at_s=9.0, target="")),
    ],
)
def test_a_fault_as_one_types_it(text, fault):
    """Kind, target and time."""
    assert parse_fault(text) == fault


@pytest.mark.parametrize("text", ["kill:node:3", "explode:node:3@5", "kill@soon", "", "kill:node:3@-1"])
def test_what_is_no_fault_is_refused(text):
    """The error shows the form."""
    with pytest.raises(LocalProtocolError, match="is no fault: KIND:TARGET@SECONDS"):
        parse_fault(text)


@pytest.mark.parametrize("text", ["", "0", "1,x", "1,,2", "257", "-1"])
def test_what_are_no_numbers_is_refused(text):
    """The option is named."""
    with pytest.raises(LocalProtocolError, match="--publishers takes numbers from 1 to 256"):
        parse_numbers("--publishers", text)


def test_lookups_outlast_the_faults():
    """With faults, half of the lookups come after the last one; without, there is no pause between them."""
    fault = Fault(kind="kill", at_s=10.0, target="node:1")

    assert lookup_rate(cell(lookups=2000, faults=(fault,))) == 100.0
    assert lookup_rate(cell(lookups=2000)) == 0.0


def test_a_fault_after_the_last_sample_is_refused():
    """Nothing would be seen of it."""
    late = Fault(kind="kill", at_s=5.0, target="subscriber:0")
    shares = {"lookups": 0, "dissemination": "direct", "publishers": 1, "subscribers": 1, "rate": 20.0}

    with pytest.raises(LocalProtocolError, match="the last fault comes after 5 s, when 100 samples"):
        check_cell(cell(samples=100, faults=(late,), **shares), Shape())
    check_cell(cell(samples=101, faults=(late,), **shares), Shape())


def test_a_capture_of_samples_without_room_for_a_token_is_refused():
    """They would not be known on the wire."""
    shares = {"lookups": 0, "dissemination": "direct", "publishers": 1, "subscribers": 1, "capture": True}

    with pytest.raises(LocalProtocolError, match="40 bytes or more, not 39"):
        check_cell(cell(payload_bytes=39, **shares), Shape())
    check_cell(cell(payload_bytes=40, **shares), Shape())
