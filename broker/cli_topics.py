"""`ringcast topics`: what is published."""

from __future__ import annotations

import json

from chord.cli_options import AsJson, Cluster, Patience, Via
from chord.client import RingClient
from pubsub.cli_options import tell
from pubsub.directory import list_topics


def topics(via: Via = None, as_json: AsJson = False, patience: Patience = 5.0, cluster: Cluster = "ringcast") -> None:
    """List the topics that have a publisher, or had one a few seconds ago.

    \b
    Example:
      ringcast topics --via 127.0.0.1:5000
    """
    with RingClient(via or [], cluster, patience) as client:
        found = client.run(list_topics)
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for topic in found:
        print(topic)
    if not found:
        tell("no topic has a publisher; `ringcast pub TOPIC` is one")
