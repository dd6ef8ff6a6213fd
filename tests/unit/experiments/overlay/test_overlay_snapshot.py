"""Snapshots as files, and of simulated rings."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from chord.messages import Hop, Neighbours, NextHop, Pointer
from chord.settings import Settings
from experiments.overlay.asked import known_to, list_length, survey
from experiments.overlay.ideal import faults, ideal_ring
from experiments.overlay.simulated import NotTheSame, take_ideal, taken_of, twin
from experiments.overlay.snapshot import BadSnapshot, load, save_to
from sim.at_once import AtOnce
from sim.cluster import Cluster
from sim.ideal import start_ideal
from sim.latency import Model


def test_a_snapshot_survives_its_file(tmp_path):
    """What was saved is loaded."""
    snapshot = take_ideal(12, 3, latency=Model.waxman)
    snapshot.save(tmp_path / "deep" / "ring.json")

    loaded = load(tmp_path / "deep" / "ring.json")

    assert loaded == snapshot
    assert loaded.latency is Model.waxman
    assert faults(loaded) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"format": 2}, "has format 2, and this version reads 1"),
        ({"members": []}, "0 members"),
        ({"bits": 8}, "is no identifier of 8 bits"),
        ({"source": "guessed"}, "is no snapshot of a ring"),
    ],
)
def test_what_is_no_snapshot_is_refused_in_one_sentence(tmp_path, change, expected):
    """It names the file and says what to do."""
    path = tmp_path / "ring.json"
    take_ideal(3, 1).save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    with pytest.raises(BadSnapshot, match=expected) as refusal:
        load(path)
    assert str(path) in str(refusal.value)
    assert "overlay snapshot" in str(refusal.value)


def test_a_missing_file_and_one_that_is_not_json_are_refused(tmp_path):
    """The same for files that cannot be read."""
    (tmp_path / "text").write_text("a ring")

    with pytest.raises(BadSnapshot, match="cannot be read"):
        load(tmp_path / "nothing")
    with pytest.raises(BadSnapshot, match="is no snapshot"):
        load(tmp_path / "text")


@pytest.mark.parametrize("nodes", [1, 2, 5, 9, 10, 40])
def test_two_ways_to_an_ideal_ring_agree(nodes):
    """Plain sorting finds the same pointers as the simulator's own ideal ring has."""
    snapshot = take_ideal(nodes, 5)

    assert ideal_ring("ring-5", snapshot.addresses, 1, 8).members == snapshot.members


@pytest.mark.parametrize("nodes", [1, 2, 5, 9, 10, 40])
def test_asking_for_next_hops_finds_everybody_whom_a_member_knows(nodes):
    """All but its predecessor, which is never named, and nobody else; in a few questions."""
    cluster = Cluster(7, Settings(cluster="ring-7"))
    hosts = [node.host for node in start_ideal(cluster, nodes, upkeep=False)]
    ring = AtOnce(hosts)
    for host in hosts:
        member = host.members[0]

        found = ring.finish(known_to(host.settings.space, member.neighbours()))

        known = {*member.fingers, *member.state.successors} - {member.state.predecessor}
        assert set(found) == known
        assert found == sorted(found, key=lambda one: (one.id - member.me.id) % 2**64)


def test_a_member_whose_answers_lead_away_is_told():
    """Whoever names somebody beyond the key would be asked for ever."""
    me, other = Pointer(10, "a:1", 1), Pointer(90, "b:1", 1)
    operation = known_to(Settings().space, Neighbours(me, Pointer(50, "c:1", 1), (other,), False))
    asked = next(operation)

    assert asked.request == NextHop(50)
    with pytest.raises(Exception, match="does not lie between"):
        operation.send(Hop(me, False, (other,)))


def views_of(addresses, listed, whole=False):
    """Members 0, 1, ... of these processes, each of which lists so many that follow it."""
    members = [Pointer(number, address, 1) for number, address in enumerate(addresses)]
    return [
        Neighbours(me, None, tuple((members[me.id + 1 :] + members[: me.id])[:count]), whole)
        for me, count in zip(members, listed, strict=True)
    ]


@pytest.mark.parametrize(
    ("addresses", "listed", "expected"),
    [
        ("abcdefgh", [5] * 8, 5),
        ("abcdefgh", [5, 5, 3, 5, 5, 2, 5, 5], 5),
        ("aaaabbccdd", [8, 7, 6, 6, 6, 6, 8, 7, 8, 7], 6),
        ("aaaabbccdd", [8, 7, 6, 6, 6, 3, 8, 7, 8, 7], 6),
    ],
)
def test_the_length_of_lists_is_what_explains_most_of_them(addresses, listed, expected):
    """Some have lost entries, or have just joined; with virtual nodes many are longer, to span 3 processes."""
    assert list_length(views_of(addresses, listed)) == expected


def test_lists_that_hold_everybody_are_long_enough():
    """Also that of a member which is alone."""
    assert list_length(views_of("abcd", [3] * 4, whole=True)) == 3
    assert list_length(views_of("a", [0], whole=True)) == 1


def test_a_twin_is_told_addresses_alone_and_gets_the_same_pointers():
    """By joining; the pointers of the snapshot are not what it is made of."""
    snapshot = ideal_ring("c", [f"127.0.0.1:{5000 + number}" for number in range(6)], 1, 3)

    assert taken_of(twin(snapshot, 1)).members == snapshot.members


def test_members_that_their_addresses_do_not_hash_to_have_no_twin():
    """As when another cluster was named than that of the ring."""
    snapshot = ideal_ring("c", ["127.0.0.1:5000", "127.0.0.1:5001"], 1, 8)

    with pytest.raises(NotTheSame, match="is not what its address hashes to in cluster 'd'"):
        twin(replace(snapshot, cluster="d"), 1)


def test_a_member_that_does_not_answer_is_named_and_a_fault():
    """It does not vanish; the pointers of others at it are right."""
    cluster = Cluster(7, Settings(cluster="ring-7"))
    views = [node.host.members[0].neighbours() for node in start_ideal(cluster, 12, upkeep=False)]
    silent = views[5].member
    cluster.crash(silent.address)

    members, unanswered = cluster.client().ask(survey(Settings().space, views, lambda *_: None))

    assert len(members) == 11
    assert unanswered == [silent]
    snapshot = replace(taken_of(cluster), members=members, unanswered={f"{silent.id:016x}": silent.address})
    assert faults(snapshot) == [f"{silent.id:016x} at {silent.address} did not answer"]


def test_a_file_below_a_file_is_refused_before_anything_is_done(tmp_path):
    """A snapshot may have been waited for by then."""
    (tmp_path / "file").write_text("")

    with pytest.raises(BadSnapshot, match="is a directory; name a file"):
        save_to(tmp_path)
    with pytest.raises(BadSnapshot, match=f"{tmp_path}/file is not a directory; name another file"):
        save_to(tmp_path / "file" / "deep" / "ring.json")
    assert save_to(tmp_path / "deep" / "ring.json") == tmp_path / "deep" / "ring.json"


class Read(list):
    """A list that counts how often it is read through."""

    times = 0

    def __iter__(self):
        self.times += 1
        return super().__iter__()


def test_faults_are_found_in_time_in_proportion_to_the_ring():
    """Members are read through a few times, not once for each of them."""
    snapshot = ideal_ring("c", [f"127.0.0.1:{5000 + number}" for number in range(60)], 1, 8)
    members = Read(snapshot.members)

    assert faults(replace(snapshot, members=members)) == []

    assert 1 <= members.times <= 3
