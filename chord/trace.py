"""What a run leaves behind, row by row. `experiments/traces/schema.py` maps these Structs to Spark columns.

Times in integer microseconds since the epoch correlate rows; durations come from a monotonic clock.
Identifiers are 64-bit and unsigned here; the Spark columns hold them as 16 hexadecimal digits.
"""

from __future__ import annotations

import msgspec

SCHEMA_VERSION = 1


class HopTrace(msgspec.Struct, array_like=True, frozen=True):
    """One exchange of a lookup: who was asked, how long it took, and whether it timed out."""

    node: int
    address: str
    rtt_us: int
    timed_out: bool


class HeaderTrace(msgspec.Struct, tag="header", array_like=True, frozen=True, kw_only=True):
    """The first row of every spool file: what the rows after it mean, and who wrote them."""

    schema: int
    process: str
    started_us: int


class LookupTrace(msgspec.Struct, tag="lookup", array_like=True, frozen=True, kw_only=True):
    """One lookup. `hops` counts the forwards after the node first asked (Stoica et al. 2003, path length).

    `duration_us` ends when the key's predecessor has named the owner; `owner_us` is the last step, to the owner.
    `outcome` is `ok` or the class name of the error. `owner` is None unless it is `ok`.
    """

    trace_id: int
    cluster: str
    mode: str
    origin: str
    name: str
    key: int
    owner: int | None
    owner_address: str
    outcome: str
    hops: int
    timeouts: int
    start_us: int
    duration_us: int
    owner_us: int
    hop_list: list[HopTrace]


class EventTrace(msgspec.Struct, tag="event", array_like=True, frozen=True, kw_only=True):
    """Something that happened to a member or a process.

    A process: bound, ready. A member: joined, complete or incomplete (its records), dropped (a peer, in `detail`),
    rejoining, rejoin failed, left.
    """

    kind: str
    node: int
    address: str
    at_us: int
    detail: str = ""


Trace = HeaderTrace | LookupTrace | EventTrace
