"""What ZooKeeper holds of a zone is read with its limits checked, and candidates are ordered by when they came."""

from __future__ import annotations

import pytest

from broker.errors import DamagedState
from broker.zone_state import Term, ZoneState, decode_state, encode_state, in_order, parse_candidates, term_of
from chord.errors import LocalProtocolError

A, B = "00000000000000aa", "00000000000000bb"
STATE = ZoneState(A, "127.0.0.1:5000", 7, (A, B))


def test_a_state_is_json_that_comes_back():
    """Written as one JSON object, and read back as it was."""
    assert encode_state(STATE) == (
        b'{"leader":"00000000000000aa","address":"127.0.0.1:5000","epoch":7,'
        b'"in_sync":["00000000000000aa","00000000000000bb"]}'
    )
    assert decode_state(encode_state(STATE)) == STATE


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b"", "truncated"),
        (b"\xff\xfe", "malformed"),
        (b"[]", "Expected `object`"),
        (b'{"leader":"a","address":"b","epoch":-1,"in_sync":[]}', "epoch"),
        (b'{"leader":"a","address":"b","epoch":1,"in_sync":[""]}', "in_sync"),
        (b'{"leader":"' + b"a" * 65 + b'","address":"b","epoch":1,"in_sync":[]}', "leader"),
        (b'{"leader":"a","address":"' + b"b" * 256 + b'","epoch":1,"in_sync":[]}', "address"),
        (b'{"leader":"a","address":"b","epoch":1,"in_sync":[' + b'"a",' * 128 + b'"a"]}', "in_sync"),
        (b" " * 70_000, "70000 bytes"),
        (b"[" * 60_000, "Expected|nested|recursion"),
    ],
)
def test_a_damaged_state_is_named(data: bytes, seen: str):
    """The error names the znode, what was wrong with it, and what to do."""
    with pytest.raises(DamagedState, match=rf"(?s)znode /z/state does not hold.*({seen}).*delete it"):
        decode_state(data, "/z/state")


def test_a_state_beyond_the_limits_is_not_written():
    """What nobody could read is refused by its writer."""
    with pytest.raises(LocalProtocolError, match="exceeds the limits"):
        encode_state(ZoneState(A, "x" * 256, 1, (A,)))


def test_other_nodes_are_no_candidates():
    """Names that are not `<broker>-<sequence>` are passed over, and a sequence may be negative."""
    nodes = [f"{A}-0000000003", "lock-1", f"{A}-x", "", f"{B}-000000000\u0663", f"{B}--2147483648", f"{B}--000000005"]

    assert sorted((each.broker, each.sequence) for each in parse_candidates(nodes)) == [
        (A, 3),
        (B, -2147483648),
        (B, -5),
    ]


@pytest.mark.parametrize(
    ("sequences", "expected"),
    [
        ([], []),
        ([3], [3]),
        ([12, 3, 9], [3, 9, 12]),
        ([-2147483648, 2147483647, 2147483640], [2147483640, 2147483647, -2147483648]),
        ([1, -1, 0], [-1, 0, 1]),
    ],
)
def test_candidates_are_ordered_around_the_circle(sequences: list[int], expected: list[int]):
    """Who came after the counter wrapped around is later than who came before."""
    nodes = [f"{A}-{number:010d}" for number in sequences]

    assert [each.sequence for each in parse_candidates(nodes)] == expected
    assert in_order([]) == []


def test_a_term_tells_who_is_live():
    """Epoch 0 stands for a zone that nobody was elected in."""
    candidates = parse_candidates([f"{A}-0000000001"])

    assert term_of(None, candidates, True) == Term(0, "", "", frozenset(), frozenset([A]))
    assert term_of(STATE, candidates, False) == Term(
        7, A, "127.0.0.1:5000", frozenset([A, B]), frozenset([A]), clean=False
    )
