"""A run and a row of every kind, for tests and for the class archive: `replace(LOOKUP, hops=2)` makes another."""

from __future__ import annotations

from chord.trace import EventTrace, HopTrace, LookupTrace
from experiments.traces.run import RunInfo
from pubsub.trace import DeliveryTrace, PublicationTrace

RUN = RunInfo(
    run="example", source="static", cluster="c", ring_size=4, successors=3, bits=64, commit="abc", started_us=0
)

LOOKUP = LookupTrace(
    trace_id=1,
    cluster="c",
    mode="iterative",
    origin="o",
    name="n",
    key=1,
    owner=1,
    owner_address="a:1",
    outcome="ok",
    hops=1,
    timeouts=0,
    start_us=1,
    duration_us=1,
    owner_us=1,
    hop_list=[HopTrace(node=1, address="a:1", rtt_us=1, timed_out=False)],
)

DELIVERY = DeliveryTrace(
    topic="t", mode="direct", publisher="p", subscriber="s", sequence=1, published_us=10, received_us=15
)

PUBLICATION = PublicationTrace(topic="t", publisher="p", first=1, last=1, at_us=1)

EVENT = EventTrace(kind="join", node=1, address="a:1", at_us=1)
