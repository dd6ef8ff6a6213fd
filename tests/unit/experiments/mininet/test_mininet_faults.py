"""What faults hit, and that they are done when they are due."""

from __future__ import annotations

import signal

import pytest

from chord.errors import LocalProtocolError
from experiments.mininet import faults as faults_module
from experiments.mininet.faults import Faults
from experiments.mininet.layout import lay_out
from experiments.mininet.seats import seat
from experiments.mininet.targets import cut_off, hits
from experiments.sweep.cells import Cell, Fault


def found(*faults: Fault, topology: str = "tree,depth=2,fanout=3", **changed):
    cell = Cell(
        **{"name": "x", "place": "mininet", "nodes": 4, "lookups": 10, "faults": faults, "replicas": 1, **changed}
    )
    seats = seat(cell)
    return hits(cell, seats, lay_out(topology, seats.count))


SHARED = {"dissemination": "brokered", "publishers": 1, "subscribers": 1}


@pytest.mark.parametrize(
    ("target", "host"),
    [
        ("node:3", "h4"),
        ("host:2", "h2"),
        ("host:h2", "h2"),
        ("broker:1", "h7"),
        ("zookeeper", "h5"),
        ("primary", "primary"),
    ],
)
def test_a_target_names_a_host(target, host):
    """By role, counted from 0, or by its own number."""
    (hit,) = found(Fault(kind="kill", at_s=1.0, target=target), **SHARED)

    assert hit.host == host


def test_a_drawn_node_comes_from_the_seed_and_none_twice():
    """The same seed hits the same nodes; never the one that the client asks from."""
    drawn = [Fault(kind="kill", at_s=float(at), target="node:*") for at in range(3)]

    first, again = found(*drawn, seed=7), found(*drawn, seed=7)

    assert [hit.host for hit in first] == [hit.host for hit in again]
    assert {hit.host for hit in first} == {"h2", "h3", "h4"}


@pytest.mark.parametrize(
    ("fault", "links"),
    [
        (Fault(kind="link_down", at_s=1.0, target="link:s1-s2"), (("s1", "s2"),)),
        (Fault(kind="link_down", at_s=1.0, target="link:h3-s2"), (("s2", "h3"),)),
        (Fault(kind="link_down", at_s=1.0, target="node:2"), (("s2", "h3"),)),
    ],
)
def test_a_link_is_named_by_its_ends_or_its_host(fault, links):
    """In either order."""
    (hit,) = found(fault)

    assert hit.links == links


def test_a_heal_mends_what_the_split_cut():
    """The same link."""
    split, heal = found(Fault(kind="split", at_s=1.0, target="0.5"), Fault(kind="heal", at_s=2.0), nodes=9)

    assert split.links == heal.links == (("s1", "s2"),)


def test_a_split_cuts_where_the_shares_are_nearest():
    """Half of a line of eight is behind the link between the fourth and the fifth switch."""
    assert cut_off(lay_out("linear", 8), 0.5) == (("s4", "s5"),)
    assert cut_off(lay_out("linear", 8), 0.25) == (("s6", "s7"),)


@pytest.mark.parametrize(
    ("faults", "text"),
    [
        ([Fault(kind="kill", at_s=1.0, target="node:9")], "hits nobody: name host:N"),
        ([Fault(kind="kill", at_s=1.0, target="host:5")], "hits nobody"),
        ([Fault(kind="kill", at_s=1.0, target="primary")], "hits nobody"),
        ([Fault(kind="kill", at_s=1.0, target="node:0")], "h1 is where the client asks from"),
        (
            [Fault(kind="kill", at_s=1.0, target="node:1"), Fault(kind="kill", at_s=2.0, target="host:2")],
            "killed before",
        ),
        ([Fault(kind="link_down", at_s=1.0, target="link:s1-h9")], "there is no such link; one is link:s2-h1"),
        ([Fault(kind="heal", at_s=1.0)], "a heal without a split"),
        ([Fault(kind="split", at_s=1.0, target="half")], "a share of the hosts between 0 and 1"),
    ],
)
def test_a_fault_that_hits_nothing_is_refused(faults, text):
    """Before anything is started."""
    with pytest.raises(LocalProtocolError, match=text):
        found(*faults)


def test_a_single_switch_cannot_be_split():
    """There is no link to cut; the error says which topologies have one."""
    with pytest.raises(LocalProtocolError, match="use linear or tree"):
        found(Fault(kind="split", at_s=1.0, target="0.5"), topology="single")


class Machine:
    """Hosts and links that write down what is done to them."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def link(self, upper: str, lower: str, up: bool) -> None:
        self.log.append(f"{upper}-{lower} {'up' if up else 'down'}")

    def uplink(self, host: str) -> tuple[str, str]:
        return "s1", host

    def primary(self) -> str:
        return "h6"

    def kill(self, host: str) -> None:
        self.log.append(f"kill {host}")

    def processes(self, host: str) -> list[Machine.Process]:
        return [Machine.Process(self, host)]

    class Process:
        def __init__(self, machine: Machine, host: str) -> None:
            self._machine, self._host = machine, host

        def send_signal(self, sig: int, /) -> None:
            self._machine.log.append(f"{signal.Signals(sig).name} {self._host}")


@pytest.fixture
def clock(monkeypatch):
    """What the faults take for the time, in seconds."""
    now = [100.0]
    monkeypatch.setattr(faults_module.time, "monotonic", lambda: now[0])
    return now


def test_faults_are_done_when_they_are_due(clock):
    """Each once, in the order of their times, counted from the beginning of the work."""
    plan = found(
        Fault(kind="link_down", at_s=4.0, target="link:s1-s2"),
        Fault(kind="stop", at_s=2.0, target="node:2"),
        Fault(kind="cont", at_s=3.0, target="node:2"),
        Fault(kind="link_up", at_s=9.0, target="link:s1-s2"),
    )
    machine = Machine()
    played = Faults(plan, machine, machine)

    clock[0] = 200.0
    played.begin()
    played.play_due()
    assert machine.log == []
    clock[0] = 202.5
    played.play_due()
    assert machine.log == ["SIGSTOP h3"]
    clock[0] = 205.0
    played.play_due()
    played.play_due()
    assert machine.log == ["SIGSTOP h3", "SIGCONT h3", "s1-s2 down"]
    assert not played.over
    clock[0] = 209.0
    played.play_due()
    assert machine.log[-1] == "s1-s2 up"
    assert played.over
    assert [entry["kind"] for entry in played.done] == ["stop", "cont", "link_down", "link_up"]


@pytest.mark.usefixtures("clock")
def test_a_killed_host_falls_silent_before_it_dies():
    """Its link goes first: else its kernel would tell the others that its processes have ended."""
    machine = Machine()
    played = Faults(found(Fault(kind="kill", at_s=0.0, target="primary"), **SHARED), machine, machine)

    played.begin()
    played.play_due()

    assert machine.log == ["s1-h6 down", "kill h6"]
    assert played.killed == {"h6"}
    assert played.done[0]["host"] == "h6"
