"""One broker leads a zone, whatever happens to brokers, sessions and ZooKeeper, and epochs only rise."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NotEmptyError

from broker.embedded import EmbeddedZooKeeper
from broker.zone_nodes import ZoneNodes
from broker.zone_state import ZoneState, encode_state
from broker.zookeeper import ZooKeeperAuthority
from chord.errors import LocalProtocolError
from tests.integration.broker.elections import PATIENCE_S, Election
from tests.waiting import eventually

BOTH = frozenset(["aa", "bb"])


@pytest.fixture
def election(zookeeper: EmbeddedZooKeeper) -> Iterator[Election]:
    with Election(zookeeper) as election:
        yield election


@pytest.fixture
def client(zookeeper: EmbeddedZooKeeper) -> Iterator[KazooClient]:
    """Somebody who meddles."""
    client = KazooClient(zookeeper.hosts)
    client.start(timeout=20)
    yield client
    client.stop()
    client.close()


def deleted(client: KazooClient, path: str) -> bool:
    """Whether a znode and all below it could be deleted before somebody made a new one below it."""
    try:
        client.delete(path, recursive=True)
    except NotEmptyError:
        return False
    return True


def base(election: Election) -> str:
    return f"/ringcast/{election.cluster}/zones/z"


def test_of_two_that_start_at_once_one_leads(election: Election):
    """Both are told of the same leader, and of each other."""
    two = [election.standing("aa"), election.standing("bb")]
    together = threading.Barrier(2)

    def start(index: int) -> None:
        together.wait()
        two[index].start()

    threads = [threading.Thread(target=start, args=[index]) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for each in two:
        each.expects(epoch=1, live=BOTH)
    assert two[0].term == two[1].term
    assert two[0].term.address == f"{two[0].term.leader}:1"


def test_a_clean_stop_hands_over_long_before_the_session_ends(election: Election):
    """The other one leads in the next epoch, and alone is in sync."""
    one, other = election.pair(session_s=10.0)

    one.authority.stop()

    other.expects(timeout_s=5.0, leader="bb", epoch=2, in_sync=frozenset(["bb"]), live=frozenset(["bb"]))
    told = len(one.terms)
    other.authority.propose_in_sync(2, BOTH)
    other.expects(in_sync=BOTH)
    assert len(one.terms) == told


def test_a_killed_leader_is_succeeded_when_its_session_ends(election: Election, client: KazooClient):
    """Its node lives on for a while; then the one in sync leads, and not the one that came first."""
    killed = election.elsewhere("aa")
    killed.hear_until(leader="aa", epoch=1)
    early, late = election.standing("cc").start(), election.standing("bb")
    early.expects(leader="aa")
    late.start().expects(leader="aa")
    client.set(f"{base(election)}/state", encode_state(ZoneState("aa", "aa:1", 1, ("aa", "bb"))))
    late.expects(in_sync=BOTH)

    killed.process.kill()

    late.expects(leader="bb", epoch=2, in_sync=frozenset(["bb"]))
    early.expects(leader="bb", live=frozenset(["bb", "cc"]))
    assert not late.warnings


def test_a_stopped_leader_learns_that_it_was_succeeded(election: Election):
    """SIGSTOP for longer than its session, then SIGCONT: it hears of the new leader, and stands again."""
    stopped = election.elsewhere("aa")
    stopped.hear_until(leader="aa", epoch=1)
    other = election.standing("bb").start()
    other.expects(leader="aa")

    stopped.process.send_signal(signal.SIGSTOP)
    other.expects(leader="bb", epoch=2, clean=False)
    stopped.process.send_signal(signal.SIGCONT)

    stopped.hear_until(leader="bb", epoch=2, live=BOTH)
    other.expects(live=BOTH)


def test_a_suspected_leader_is_succeeded_at_once(election: Election):
    """Long before its session ends; and should it live after all, it is told and goes on as a backup."""
    one, other = election.pair(session_s=10.0)

    other.authority.suspect("aa")

    other.expects(timeout_s=5.0, leader="bb", epoch=2, in_sync=frozenset(["bb"]), live=BOTH)
    one.expects(leader="bb", epoch=2)


def test_somebody_out_of_sync_does_not_take_over_on_suspicion(election: Election):
    """It would lose what the suspected leader, who lives, holds."""
    one, other = election.standing("aa").start(), election.standing("bb")
    one.expects(leader="aa", epoch=1)
    other.start().expects(leader="aa", live=BOTH)

    other.authority.suspect("aa")
    one.authority.propose_in_sync(1, frozenset(["aa", "cc"]))  # so that the other has read, and decided, since

    other.expects(in_sync=frozenset(["aa", "cc"]))
    assert {each.leader for each in other.terms} <= {"", "aa"}


def test_whoever_is_left_leads_and_says_that_data_are_lost(election: Election):
    """When nobody in sync is left, somebody else takes over, with a warning, once."""
    one, other = election.standing("aa").start(), election.standing("bb")
    one.expects(leader="aa", epoch=1)
    other.start().expects(leader="aa")

    one.authority.stop()

    other.expects(leader="bb", epoch=2, clean=False, in_sync=frozenset(["bb"]))
    other.authority.propose_in_sync(2, frozenset(["bb", "cc"]))
    other.expects(in_sync=frozenset(["bb", "cc"]), clean=False)
    assert [text for text in other.warnings if "nobody who was in sync is left" in text] == other.warnings
    assert len(other.warnings) == 1


def test_a_deposed_leader_changes_nothing(election: Election):
    """Neither what it proposes nor what it writes after all reaches the state; each proposal is answered."""
    one, other = election.pair()
    other.authority.suspect("aa")
    other.expects(leader="bb", epoch=2)
    one.expects(leader="bb", epoch=2)
    told = len(one.terms)

    one.authority.propose_in_sync(1, frozenset(["aa", "cc"]))
    eventually(lambda: len(one.terms) > told, what="the proposal is answered")
    one.authority.propose_in_sync(2, frozenset(["aa", "cc"]))
    eventually(lambda: len(one.terms) > told + 1, what="the second proposal is answered")

    assert one.term == other.term
    assert one.term.in_sync == frozenset(["bb"])


def test_what_was_read_before_another_wrote_is_not_written(zookeeper: EmbeddedZooKeeper, election: Election):
    """Neither over a state that changed since, nor created twice, nor without an election node of one's own."""
    woken = threading.Event()
    nodes = [ZoneNodes(zookeeper.hosts, election.cluster, "z", broker, 10.0, woken.set) for broker in ("aa", "bb")]
    try:
        for each in nodes:
            each.connect(PATIENCE_S)
        one, other = nodes[0].read(), nodes[1].read()
        assert nodes[0].write(one, ZoneState("aa", "aa:1", 1, ("aa",)))
        assert not nodes[1].write(other, ZoneState("bb", "bb:1", 1, ("bb",)))

        one, other = nodes[0].read(), nodes[1].read()
        assert nodes[1].write(other, ZoneState("bb", "bb:1", 2, ("bb",)))
        assert not nodes[0].write(one, ZoneState("aa", "aa:1", 2, ("aa",)))

        one = nodes[0].read()
        nodes[0].client.delete(f"{nodes[0].election_path}/{one.own}")
        assert not nodes[0].write(one, ZoneState("aa", "aa:1", 3, ("aa",)))
        assert nodes[0].read().state == ZoneState("bb", "bb:1", 2, ("bb",))
    finally:
        for each in nodes:
            each.close(5.0)


def test_a_lost_reply_to_the_registration_makes_no_second_candidate(election: Election):
    """A node of the session that is there already is taken for our own."""
    nodes = ZoneNodes(election.hosts, election.cluster, "z", "aa", 10.0, lambda: None)
    try:
        nodes.connect(PATIENCE_S)
        nodes.client.ensure_path(nodes.election_path)
        made = nodes.client.create(f"{nodes.election_path}/aa-", ephemeral=True, sequence=True)

        view = nodes.read()

        assert view.own == made.rpartition("/")[2]
        assert [each.node for each in view.candidates] == [view.own]
    finally:
        nodes.close(5.0)


def test_an_expired_session_is_built_up_again(election: Election):
    """Its node is gone at once and a new one made; whoever leads in the end, there is one, and both stand."""
    one, other = election.pair()
    identity = one.authority._nodes.client.client_id

    thief = KazooClient(election.hosts, client_id=identity)
    thief.start(timeout=20)
    thief.stop()
    thief.close()

    eventually(lambda: one.authority._nodes.client.client_id not in (None, identity), what="a new session")
    eventually(lambda: one.term.live == other.term.live == BOTH and one.term.leader == other.term.leader)
    other.authority.stop()
    one.expects(leader="aa", live=frozenset(["aa"]))


@pytest.mark.parametrize("gone", ["election", "state", ""], ids=["the candidates", "the state", "everything"])
def test_znodes_that_somebody_deletes_are_made_again(election: Election, client: KazooClient, gone: str):
    """Watches go on, brokers stand again, and epochs do not start over."""
    one, other = election.pair()
    one.authority.stop()
    other.expects(leader="bb", epoch=2)
    third = election.standing("cc").start()
    third.expects(leader="bb", live=frozenset(["bb", "cc"]))

    eventually(lambda: deleted(client, f"{base(election)}/{gone}".rstrip("/")))

    def both_in_sync() -> bool:
        leader = other if other.term.leader == "bb" else third
        leader.authority.propose_in_sync(leader.term.epoch, frozenset(["bb", "cc"]))
        return other.term.epoch == third.term.epoch and other.term.in_sync == third.term.in_sync == {"bb", "cc"}

    eventually(both_in_sync)
    leader, backup = (other, third) if other.term.leader == "bb" else (third, other)
    epoch = leader.term.epoch
    assert epoch >= (2 if gone == "election" else 3)
    leader.authority.stop()
    backup.expects(leader=backup.broker, epoch=epoch + 1)


def test_a_damaged_state_is_said_and_mended_by_deleting_it(election: Election, client: KazooClient):
    """Brokers go on as they are, name the znode, and elect anew, in a later epoch, when it was deleted."""
    one, _ = election.pair()

    client.set(f"{base(election)}/state", b"{")
    eventually(lambda: one.warnings)
    client.delete(f"{base(election)}/state")

    eventually(lambda: one.term.epoch == 2)
    eventually(lambda: len(one.warnings) == 2)
    assert f"znode {base(election)}/state does not hold" in one.warnings[0]
    assert "is back" in one.warnings[1]


def test_zookeeper_killed_and_restarted(tmp_path: Path):
    """The term holds meanwhile, and afterwards one leads in no lower epoch; each says twice that something happened."""
    with EmbeddedZooKeeper(tmp_path) as server, Election(server) as election:
        one, other = election.pair(session_s=2.0)
        before = other.term

        server.kill()
        for each in (one, other):
            eventually(lambda each=each: each.warnings, what="ZooKeeper is missed")
        assert (one.term, other.term) == (before, before)
        server.restart()

        for each in (one, other):
            eventually(lambda each=each: len(each.warnings) == 2, what="ZooKeeper is back")
        eventually(lambda: one.term == other.term and one.term.live == BOTH and one.term.in_sync >= {one.term.leader})
        assert one.term.epoch >= before.epoch
        assert "does not answer" in one.warnings[0] or "did not answer" in one.warnings[0]
        assert "is back" in one.warnings[1]
        other.authority.stop()
        one.expects(leader="aa", live=frozenset(["aa"]))


def test_stop_does_not_wait_for_a_zookeeper_that_hangs(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    """It returns while the server does nothing at all, and nothing is said on the terminal."""
    with EmbeddedZooKeeper(tmp_path) as server, Election(server) as election:
        one, _ = election.pair()
        assert server.process is not None
        server.process.send_signal(signal.SIGSTOP)

        one.authority.stop()

        told = len(one.terms)
        server.process.send_signal(signal.SIGCONT)
        eventually(lambda: not one.authority._nodes.client.connected)
        assert len(one.terms) == told
    assert capfd.readouterr() == ("", "")


def test_a_zookeeper_that_is_not_there_is_said():
    """Where it was looked for and for how long, in the error and nowhere else: kazoo's own warnings reach nobody."""
    program = (
        "from broker.zookeeper import ZooKeeperAuthority\n"
        "authority = ZooKeeperAuthority('127.0.0.1:1,no.invalid:2181', 'c', 'z', 'aa', 'aa:1', 2.0, print, print)\n"
        "try:\n    authority.start(0.3)\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
        "authority.stop()\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.startswith(
        "ZooKeeperUnreachable ZooKeeper at 127.0.0.1:1,no.invalid:2181 did not answer within 0.3 s"
    )
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("hosts", "broker", "address", "said"),
    [
        ("127.0.0.1:x", "aa", "aa:1", "'127.0.0.1:x'.*HOST:PORT"),
        ("", "aa", "aa:1", "''.*HOST:PORT"),
        ("127.0.0.1:2181", "a-a", "aa:1", "'a-a' is no id"),
        ("127.0.0.1:2181", "aa", "a" * 256, "exceeds the limits"),
    ],
)
def test_arguments_that_will_not_do(hosts: str, broker: str, address: str, said: str):
    """Refused before anything is started."""
    with pytest.raises(LocalProtocolError, match=said):
        ZooKeeperAuthority(hosts, "c", "z", broker, address, 2.0, print, print)


@pytest.mark.parametrize(("asked_s", "granted_s"), [(0.1, 1), (61.0, 60)])
def test_a_session_that_is_not_granted_is_said(election: Election, asked_s: float, granted_s: float):
    """The embedded ZooKeeper gives a second at least, and a minute at most."""
    one = election.standing("aa", asked_s).start()

    assert one.warnings == [
        f"ZooKeeper at {election.hosts} grants sessions of {granted_s:g} s instead of {asked_s:g} s"
    ]


def test_a_cluster_of_any_name_has_its_znodes(zookeeper: EmbeddedZooKeeper):
    """Slashes and dots are part of the name, not of the path."""
    with Election(zookeeper) as election:
        election.cluster = "../a b/\u00e9\u2028"
        election.standing("aa").start().expects(leader="aa")
    with Election(zookeeper) as election:
        election.cluster = ".."
        election.standing("aa").start().expects(leader="aa")
