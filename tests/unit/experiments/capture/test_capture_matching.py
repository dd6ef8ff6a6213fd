"""Samples on the wire: known by their tokens, timed at both interfaces, matched with what the applications say."""

from __future__ import annotations

import pytest

from experiments.capture.matching import WireRow, microseconds, read, sightings, wire_us, write
from experiments.capture.tokens import LEAST_BYTES, found, payload

PUBLISHER, BROKER, SUBSCRIBER, OTHER = "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"


def test_every_sample_is_known_by_its_bytes():
    """Also several in one packet, between other bytes; and the largest that there can be."""
    packet = b"\x00\xbe" + payload(0, 7, 100) + b"\x91" + payload(12, 345, LEAST_BYTES) + b"ringcast-sample:1:"

    assert list(found(packet)) == [(0, 7), (12, 345)]
    assert list(found(payload(999_999_999, 999_999_999, LEAST_BYTES))) == [(999_999_999, 999_999_999)]
    assert len(payload(1, 1, 100)) == 100


def test_a_payload_is_as_long_as_it_was_asked_for():
    """Even if there is no room for a token."""
    assert len(payload(1, 1, 3)) == 3


def test_a_packet_counts_where_it_leaves_and_where_it_arrives():
    """By direction at the own address; the first time it is seen, not when it is sent again."""
    sample = payload(0, 1, 50)
    packets = [
        (1000, PUBLISHER, SUBSCRIBER, sample),
        (1500, PUBLISHER, SUBSCRIBER, sample),
        (1600, PUBLISHER, OTHER, sample),
        (1700, SUBSCRIBER, PUBLISHER, payload(1, 1, 50)),
    ]

    seen = sightings(iter(packets), PUBLISHER)

    assert seen.out == {(0, 1): {SUBSCRIBER: 1000, OTHER: 1600}}
    assert seen.came == {(1, 1): 1700}


@pytest.mark.parametrize(
    ("out", "came", "expected"),
    [
        ({(0, 1): {SUBSCRIBER: 1000}}, {(0, 1): 1300}, 300),
        ({(0, 1): {OTHER: 900, SUBSCRIBER: 1000}}, {(0, 1): 1300}, 300),
        ({(0, 1): {BROKER: 1000}}, {(0, 1): 1900}, 900),
        ({(0, 1): {SUBSCRIBER: 1000}}, {}, None),
        ({}, {(0, 1): 1300}, None),
    ],
    ids=["direct", "direct to several", "through a broker", "not seen to arrive", "not seen to leave"],
)
def test_the_wire_latency_is_from_interface_to_interface(out, came, expected):
    """From the packet to this very subscriber if there is one; none of a sample that was not seen at both ends."""
    assert wire_us(out, came, (0, 1), SUBSCRIBER) == expected


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1795943877.309577832", 1795943877309577),
        ("1795943877.000001999", 1795943877000001),
        ("1795943877.5", 1795943877500000),
        ("1795943877", 1795943877000000),
    ],
)
def test_times_lose_nothing_above_a_microsecond(text, number):
    """A float of seconds would round to a quarter of one."""
    assert microseconds(text) == number


def test_rows_outlive_their_file(tmp_path):
    """As Parquet, a missing wire latency as null."""
    rows = [
        WireRow(
            run="r",
            dissemination="direct",
            topic="t",
            publisher="p",
            subscriber="s",
            sequence=number,
            published_us=10,
            app_us=5,
            wire_us=wire,
        )
        for number, wire in ((1, 3), (2, None))
    ]

    assert read(write(rows, tmp_path / "wire.parquet")) == rows
