"""What real nodes recorded, made once for several tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.local_ring import LocalRing
from chord.client import RingClient
from tests.integration.chord.rings import all_agree, terminate
from tests.waiting import eventually

LONG_ENOUGH_BYTES = 12_000


@pytest.fixture(scope="session")
def recorded(tmp_path_factory) -> dict[str, Path]:
    """The recordings of a ring of four, by what became of each node; one more that was not recorded was killed.

    Nodes join one by one, records are put and read, one node is killed, one leaves, and one is killed in the end.
    """
    folder = tmp_path_factory.mktemp("recorded")
    names = [f"name {number}" for number in range(30)]
    with LocalRing() as ring:
        nodes = {}
        for role, options in (("first", []), ("vnodes", ["--vnodes", "3"]), ("leaver", []), ("killed", [])):
            ring.options = ["--record", str(folder / role), *options]
            (nodes[role],) = ring.grow(1)
        ring.options = []
        (victim,) = ring.grow(1)
        with RingClient([nodes["first"].address], patience_s=20.0) as client:
            for name in names:
                client.put(name, "e", b"v", 60.0)
            for name in names[:5]:
                client.delete(name, "e")
            ring.kill(victim)
            for name in names:
                client.lookup(name)
                client.get(name)
            assert terminate(ring, nodes["leaver"]) == 0
            eventually(lambda: (folder / "killed").stat().st_size > LONG_ENOUGH_BYTES, 30.0, "a long recording")
            ring.kill(nodes["killed"])
            for name in names:
                client.get(name)
        assert terminate(ring, nodes["vnodes"]) == 0
        all_agree(ring)
        assert terminate(ring, nodes["first"]) == 0
    return {role: folder / role for role in nodes}
