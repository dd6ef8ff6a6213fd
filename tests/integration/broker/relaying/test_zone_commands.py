"""`ringcast broker` and `zones`, and `pub` and `sub` through brokers, as a person runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from broker.local_ring import LocalRing
from chord.client import RingClient
from pubsub.client import Publisher, Subscriber
from pubsub.zones import list_zones
from tests.integration.broker.zones import Ground, Zone
from tests.waiting import eventually

WAIT_S = 40.0


@pytest.fixture(scope="module")
def quiet() -> Iterator[Ground]:
    """A ring of one node, and a ZooKeeper, with no zones but those of these tests."""
    with Ground(1) as ground:
        yield ground


def launch(*arguments: str, via: str = "", stdin: bytes | None = None) -> subprocess.Popen[bytes]:
    """Start `ringcast`; `via` is handed over in its environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RINGCAST_")}
    environment.update(NO_COLOR="1", COLUMNS="120", **({"RINGCAST_VIA": via} if via else {}))
    process = subprocess.Popen(
        [sys.executable, "-m", "broker.cli", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert process.stdin is not None
    process.stdin.write(stdin or b"")
    return process


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """The exit code of a command, what it said, and what it said on standard error."""
    try:
        out, errors = process.communicate(timeout=WAIT_S)
    finally:
        process.kill()
        process.wait()
    return process.returncode, out.decode(), errors.decode()


def ringcast(*arguments: str, via: str = "", stdin: bytes | None = None) -> tuple[int, str, str]:
    """Run `ringcast` to its end."""
    return ended(launch(*arguments, via=via, stdin=stdin))


NO_PRIMARY = "no zone has a primary; `ringcast broker --zone NAME` starts one, `ringcast up` a whole stack\n"
NO_ZONE = "error: no zone has a broker; start one with `ringcast broker --zone NAME`, or do without --brokered\n"


def test_what_cannot_be_is_said_in_one_line(quiet: Ground):
    """With exit code 2 for what was asked wrongly, and 1 for what does not answer. All of it at once, to save time."""
    hosts, nobody = quiet.zookeeper.hosts, "127.0.0.1:1"
    with LocalRing() as ring:
        ring.grow(1)
        via = ring.addresses()[0]
        asked = {
            ("pub", "t", "--brokered"): (1, via, re.escape(NO_ZONE)),
            ("sub", "t", "--brokered"): (1, via, re.escape(NO_ZONE)),
            ("pub", "t", "--zone", "a b"): (2, via, "error: zone 'a b' is no name for a zone: .*\n"),
            ("sub", "t", "--zone", ".."): (2, via, r"error: zone '\.\.' is no name for a zone: .*" + "\n"),
            ("broker", "--zone", "a/b", "--zookeeper", hosts): (2, via, "error: zone 'a/b' is no name for .*\n"),
            ("broker", "--zone", "z"): (2, via, "error: no ZooKeeper is known; name it with --zookeeper .*\n"),
            ("broker", "--zone", "z", "--zookeeper", nobody, "--patience", "0.5"): (
                1,
                via,
                r"error: ZooKeeper at 127\.0\.0\.1:1 did not answer within 1\.0 s; is it running there\?.*" + "\n",
            ),
            ("broker", "--zone", "z", "--zookeeper", hosts): (2, "", "error: no ring node is known; .*\n"),
            ("broker", "--zone", "y", "--zookeeper", hosts, "--patience", "0.5"): (
                1,
                nobody,
                "error: no ring node answered: .*\n",
            ),
        }

        running = {arguments: launch(*arguments, via=via) for arguments, (_, via, _) in asked.items()}
        seen = {arguments: ended(process) for arguments, process in running.items()}

    for arguments, (code, _, said) in asked.items():
        assert (seen[arguments][0], seen[arguments][1]) == (code, ""), (arguments, seen[arguments])
        assert re.fullmatch(said, seen[arguments][2]), (arguments, seen[arguments])


def test_zones_are_listed_without_any():
    """As a sentence and as JSON."""
    with LocalRing() as ring:
        ring.grow(1)
        via = ring.addresses()[0]

        assert ringcast("zones", via=via) == (0, NO_PRIMARY, "")
        assert ringcast("zones", "--json", via=via) == (0, "{}\n", "")


def loads(ground: Ground, *zones: Zone) -> dict[str, tuple[int, int]]:
    """Clients and brokers in sync of these zones, as the ring says."""
    with RingClient(ground.via) as client:
        found = client.run(list_zones)
    return {zone.name: (found[zone.name].clients, found[zone.name].in_sync) for zone in zones if zone.name in found}


def test_clients_come_to_the_least_loaded_zone(quiet: Ground):
    """As the list shows it; each then counts there, and its samples pass through that zone."""
    with Zone(quiet, "full") as full, Zone(quiet, "roomy") as roomy:
        started = full.launch(1) + roomy.launch(2)
        full.wait_ready(started[:1])
        roomy.wait_ready(started[1:])
        roomy.wait_in_sync()
        with (
            full.subscriber("x", "y"),
            full.subscriber("x"),
            full.subscriber("y"),
            full.publisher() as writer,
            roomy.subscriber("x"),
        ):
            writer.publish("x", b"first")
            writer.publish("y", b"first")
            eventually(lambda: loads(quiet, full, roomy) == {"full": (4, 1), "roomy": (1, 2)}, what="4 and 1 clients")

            code, out, errors = ringcast("zones", via=quiet.via[0])
            assert (code, errors) == (0, "")
            rows = [line.split() for line in out.splitlines()]
            assert rows[0] == ["zone", "primary", "epoch", "brokers", "in", "sync", "clients", "topics"]
            assert rows[1] == ["full", full.primary.address, "1", "1", "1", "4", "2"]
            assert rows[2] == ["roomy", roomy.primary.address, "1", "2", "2", "1", "0"]
            code, out, errors = ringcast("zones", "--json", via=quiet.via[0])
            assert (code, errors) == (0, "")
            primary = roomy.primary.address
            shown = {"primary": primary, "epoch": 1, "brokers": 2, "in_sync": 2, "clients": 1, "topics": 0}
            assert json.loads(out)["roomy"] == shown

            reader = launch("sub", "z", "--count", "3", "--zone", "full", via=quiet.via[0])
            with Subscriber(["z"], via=quiet.via, brokered=True) as other:
                assert other.zone == "roomy"
                assert reader.stderr is not None
                assert reader.stderr.readline() == b"subscribed to z\n"

                with Publisher(via=quiet.via, brokered=True) as another:
                    assert another.zone == "roomy"
                done = ringcast("pub", "z", "--brokered", via=quiet.via[0], stdin=b"one\ntwo\nthree\n")

                assert done == (0, "", "published 3 samples on z\n")
                assert ended(reader) == (0, "one\ntwo\nthree\n", "")
                samples = [other.receive(WAIT_S) for _ in range(3)]
                assert [sample and sample.payload for sample in samples] == [b"one", b"two", b"three"]
        eventually(lambda: loads(quiet, full, roomy) == {"full": (0, 1), "roomy": (0, 2)}, what="no clients")
