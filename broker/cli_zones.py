"""`ringcast zones`: the zones, their primaries and their load."""

from __future__ import annotations

import json

from chord.cli_options import AsJson, Cluster, Patience, Via
from chord.client import RingClient
from pubsub.zones import list_zones


def zones(via: Via = None, as_json: AsJson = False, patience: Patience = 5.0, cluster: Cluster = "ringcast") -> None:
    """List the zones that have a primary, as the ring names them.

    \b
    Examples:
      ringcast zones --via 127.0.0.1:5000
      ringcast zones --json | jq 'keys'
    """
    with RingClient(via or [], cluster, patience) as client:
        found = client.run(list_zones)
    if as_json:
        shown = {
            zone: {
                "primary": load.primary.address,
                "epoch": load.primary.epoch,
                "brokers": load.brokers,
                "in_sync": load.in_sync,
                "clients": load.clients,
                "topics": load.topics,
            }
            for zone, load in found.items()
        }
        print(json.dumps(shown, indent=2))
        return
    from rich.console import Console  # heavy, and not for --json
    from rich.table import Table

    if not found:
        print("no zone has a primary; `ringcast broker --zone NAME` starts one, `ringcast up` a whole stack")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("zone", "primary"):
        table.add_column(name)
    for name in ("epoch", "brokers", "in sync", "clients", "topics"):
        table.add_column(name, justify="right")
    for zone, load in found.items():
        numbers = (load.primary.epoch, load.brokers, load.in_sync, load.clients, load.topics)
        table.add_row(zone, load.primary.address, *map(str, numbers))
    Console().print(table)
