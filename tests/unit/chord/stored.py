"""One entry of a record, put and read as clients do, and looked for where it is held."""

from __future__ import annotations

from chord.host import Host
from chord.messages import FetchArc, Stored
from tests.unit.chord.worlds import World, client

LEASE_S = 600.0


def put(world: World, hosts: list[Host], name: str, value: bytes = b"v") -> Stored:
    """Put it through these processes."""
    kernel, ring = client(world, hosts)
    return world.finish(kernel, ring.put(name, "e", value, LEASE_S))


def get(world: World, hosts: list[Host], name: str) -> list[tuple[int, bytes]]:
    """Read the record through these processes: versions and values."""
    kernel, ring = client(world, hosts)
    return [(entry.version, entry.value) for entry in world.finish(kernel, ring.get(name))]


def held(one: Host, name: str, now: float) -> list[bytes]:
    """The values that a process has itself."""
    return [entry.value for entry in one.members[0].store.page(name, "", now).entries]


def fetches_arc(message: object) -> bool:
    """Whether it asks for the records of an arc."""
    return isinstance(getattr(message, "body", None), FetchArc)
