"""Topologies: which hosts, switches and links there are, by Mininet's names."""

from __future__ import annotations

import pytest

from chord.errors import LocalProtocolError
from experiments.mininet.layout import address, lay_out, tree_size


def test_a_single_switch_has_every_host():
    """All hosts hang on s1."""
    layout = lay_out("single", 3)

    assert layout.switches == ("s1",)
    assert layout.links == (("s1", "h1"), ("s1", "h2"), ("s1", "h3"))


def test_a_line_has_a_switch_for_each_host():
    """Switches form a chain, each with one host."""
    layout = lay_out("linear", 3)

    assert layout.switches == ("s1", "s2", "s3")
    assert set(layout.links) == {("s1", "s2"), ("s2", "s3"), ("s1", "h1"), ("s2", "h2"), ("s3", "h3")}


def test_a_tree_is_numbered_as_mininet_does():
    """`mn --topo tree,depth=2,fanout=3`: s1 above s2, s3 and s4, each with three hosts."""
    layout = lay_out("tree,depth=2,fanout=3", 9)

    assert layout.below("s1") == ("s2", "s3", "s4")
    assert layout.below("s2") == ("h1", "h2", "h3")
    assert layout.below("s4") == ("h7", "h8", "h9")


def test_a_tree_with_fewer_hosts_has_no_empty_switches():
    """What hangs below no host is left out, and every host hangs on one switch."""
    layout = lay_out("tree,depth=3,fanout=2", 3)

    assert layout.hosts == ("h1", "h2", "h3")
    assert all(list(layout.hosts_below(switch)) for switch in layout.switches)
    assert [lower for _, lower in layout.links if lower in layout.hosts] == ["h1", "h2", "h3"]
    assert len(layout.links) == len(layout.hosts) + len(layout.switches) - 1


@pytest.mark.parametrize(("hosts", "size"), [(1, (2, 2)), (9, (2, 3)), (10, (2, 4)), (16, (2, 4)), (64, (2, 8))])
def test_a_tree_without_numbers_has_the_least_room_that_is_enough(hosts, size):
    """Depth 2, and the least fan-out whose square is as many hosts or more."""
    assert tree_size("tree", hosts) == size


@pytest.mark.parametrize(
    ("topology", "hosts", "text"),
    [
        ("ring", 4, "'ring' is no topology: single, linear, or tree"),
        ("linear,n=2", 4, "is no topology"),
        ("tree,depth=2,fanout=x", 4, "is no topology"),
        ("tree,depth=2,width=3", 4, "is no topology"),
        ("tree,depth=2,fanout=3", 10, "has room for 9 hosts, not for 10"),
        ("tree,depth=9,fanout=9", 4, "places"),
        ("single", 0, "1 to 256 hosts, not 0"),
    ],
)
def test_what_is_no_topology_is_refused(topology, hosts, text):
    """The error says what there is."""
    with pytest.raises(LocalProtocolError, match=text):
        lay_out(topology, hosts)


def test_addresses_go_on_after_the_last_number():
    """The 256th host does not share the address of another."""
    assert address("h1") == "10.0.0.1"
    assert address("h256") == "10.0.1.0"
