"""`dht lookup`, `ring`, `put`, `get` and `delete`: asking a ring from outside it."""

from __future__ import annotations

import base64
import json
from typing import Annotated, Any

import typer

from chord.amounts import counted
from chord.cli_options import Advertise, AsJson, Cluster, Patience, Trace, Via
from chord.client import Mode, RingClient
from chord.errors import LookupFailed
from chord.identifiers import hexadecimal
from chord.lookup import Walk
from chord.messages import Entry, Neighbours, Pointer
from chord.views import is_consistent

Name = Annotated[str, typer.Argument(help="1 to 255 bytes of UTF-8.")]
EntryOption = Annotated[str, typer.Option(help="Which entry of the record.")]


def lookup(
    names: Annotated[list[str], typer.Argument(help="Names to look up.", metavar="NAME")],
    via: Via = None,
    as_json: AsJson = False,
    trace: Trace = None,
    patience: Patience = 5.0,
    cluster: Cluster = "ringcast",
    mode: Annotated[
        Mode, typer.Option(help="Ask hop by hop, or have the ring pass the question on and the owner answer.")
    ] = Mode.ITERATIVE,
    host: Annotated[str, typer.Option(help="Address to be answered at when --mode is recursive.")] = "127.0.0.1",
    advertise: Advertise = None,
) -> None:
    """Find the node that owns each name: owner, path, hops, and how long it took.

    Hops are the forwards after the node first asked. The time ends when the key's predecessor has named the owner; the
    last step, to the owner itself, is timed apart. Recursively the owner itself answers, and there is one time: in JSON
    owner_us is null then.

    \b
    Examples:
      dht lookup flights.JFK --via 127.0.0.1:5000
      dht lookup flights.JFK flights.LGA --json
      dht lookup flights.JFK --mode recursive --via 127.0.0.1:5000
    """
    client = RingClient(via or [], cluster, patience, trace, mode=mode, host=host, advertise=advertise)
    with client:
        walks = [(name, client.lookup(name)) for name in names]
    if as_json:
        print(json.dumps([_walk_json(name, walk, mode) for name, walk in walks], indent=2))
        return
    for name, walk in walks:
        assert walk.owner is not None
        path = " -> ".join(pointer.address for pointer in walk.path)
        print(f"{name}  key {hexadecimal(walk.key)}")
        print(f"  owner {walk.owner}")
        print(f"  path  {path}  ({counted(walk.hops, 'hop')}, {counted(walk.timeouts, 'time-out')})")
        to_owner = f", and {_owner_us(walk)} us to the owner" if mode is Mode.ITERATIVE else ""
        print(f"  took  {_duration_us(walk)} us{to_owner}")


def ring(via: Via = None, as_json: AsJson = False, patience: Patience = 5.0, cluster: Cluster = "ringcast") -> None:
    """Walk the ring and show every member with its neighbours.

    Exit code 1 when the members' views do not fit together (yet).

    \b
    Examples:
      dht ring --via 127.0.0.1:5000
      dht ring --json
    """
    with RingClient(via or [], cluster, patience) as client:
        views = client.members()
    consistent = is_consistent(views)
    if as_json:
        print(json.dumps({"members": [_view_json(view) for view in views], "consistent": consistent}, indent=2))
    else:
        from chord.render import ring_table

        ring_table(views, consistent)
    if not consistent:
        raise typer.Exit(1)


def put(
    name: Name,
    value: Annotated[str, typer.Argument(help="What to store, at most 16 KiB.")],
    lease: Annotated[float, typer.Option(help="Seconds until it expires.", metavar="S")],
    via: Via = None,
    entry: EntryOption = "cli",
    version: Annotated[int, typer.Option(help="Version to store it as; 0 counts on.", min=0)] = 0,
    as_json: AsJson = False,
    patience: Patience = 5.0,
    cluster: Cluster = "ringcast",
) -> None:
    """Store a value under a name for a while. The same entry again replaces it, as the next version.

    \b
    Example:
      dht put motd 'hello' --lease 60 --via 127.0.0.1:5000
    """
    with RingClient(via or [], cluster, patience) as client:
        stored = client.put(name, entry, value.encode("utf-8", "surrogateescape"), lease, version)
    if as_json:
        print(json.dumps({"name": name, "entry": entry, "version": stored.version, "copies": stored.copies}))
    else:
        print(f"stored {entry} as version {stored.version} on {counted(stored.copies, 'process', 'processes')}")


def get(
    name: Name, via: Via = None, as_json: AsJson = False, patience: Patience = 5.0, cluster: Cluster = "ringcast"
) -> None:
    """Show the live entries under a name. Exit code 1 when there are none.

    \b
    Example:
      dht get motd --via 127.0.0.1:5000
    """
    with RingClient(via or [], cluster, patience) as client:
        entries = client.get(name)
    if as_json:
        print(json.dumps([_entry_json(entry) for entry in entries], indent=2))
    for entry in entries if not as_json else ():
        text = entry.value.decode("utf-8", "backslashreplace")
        print(f"{entry.entry}  version {entry.version}  lease {entry.lease_s:.1f} s  {text}")
    if not entries:
        raise LookupFailed(f"nothing is stored under {name!r}")


def delete(
    name: Name,
    via: Via = None,
    entry: EntryOption = "cli",
    as_json: AsJson = False,
    patience: Patience = 5.0,
    cluster: Cluster = "ringcast",
) -> None:
    """Delete an entry; deleting what is not there is no error.

    \b
    Example:
      dht delete motd --via 127.0.0.1:5000
    """
    with RingClient(via or [], cluster, patience) as client:
        stored = client.delete(name, entry)
    if as_json:
        print(json.dumps({"name": name, "entry": entry, "version": stored.version, "copies": stored.copies}))
    elif stored.version == 0:
        print(f"nothing to delete: {name} has no entry {entry}")
    else:
        print(f"deleted {entry} of {name}")


def _pointer_json(pointer: Pointer | None) -> dict[str, str] | None:
    return None if pointer is None else {"id": hexadecimal(pointer.id), "address": pointer.address}


def _duration_us(walk: Walk) -> int:
    return int((walk.named_at - walk.started_at) * 1e6)


def _owner_us(walk: Walk) -> int:
    return int((walk.ended_at - walk.named_at) * 1e6)


def _walk_json(name: str, walk: Walk, mode: Mode) -> dict[str, Any]:
    return {
        "name": name,
        "key": hexadecimal(walk.key),
        "owner": _pointer_json(walk.owner),
        "path": [_pointer_json(pointer) for pointer in walk.path],
        "hops": walk.hops,
        "timeouts": walk.timeouts,
        "duration_us": _duration_us(walk),
        "owner_us": _owner_us(walk) if mode is Mode.ITERATIVE else None,
    }


def _view_json(view: Neighbours) -> dict[str, Any]:
    return {
        "id": hexadecimal(view.member.id),
        "address": view.member.address,
        "predecessor": _pointer_json(view.predecessor),
        "successors": [_pointer_json(pointer) for pointer in view.successors],
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    shown: dict[str, Any] = {"entry": entry.entry, "version": entry.version, "lease_s": round(entry.lease_s, 3)}
    try:
        shown["value"] = entry.value.decode("utf-8")
    except UnicodeDecodeError:
        shown["value_base64"] = base64.b64encode(entry.value).decode("ascii")
    return shown
