"""Batches: the layout, what is refused, and the times near a carry."""

from __future__ import annotations

import mmh3
import pytest

from chord.errors import RemoteProtocolError
from pubsub.batch import Batch
from pubsub.encoding import SingleEncoder, encode, fitting
from pubsub.layout import Origin
from pubsub.limits import BATCH_BYTES, MAX_BATCH_SAMPLES, MAX_PAYLOAD_BYTES

ORIGIN = Origin("flights.JFK", 0x10FDF0CC2FBCA71D, producer=7, epoch=2, partition=3, priority=1)


def frame(payloads=(b"one", b"", b"three"), times=(1_000, 1_001, 1_500), first=41, origin=ORIGIN, **columns):
    return bytes(encode(origin, first, payloads, times, **columns))


def signed(damaged):
    """The frame with the checksum that fits it, as somebody would send it who means harm."""
    checksum = mmh3.mmh3_x64_128_uintdigest(bytes(damaged[28:]), 0) & (2**64 - 1)
    return bytes(damaged[:20]) + checksum.to_bytes(8, "little") + bytes(damaged[28:])


def test_a_batch_has_the_documented_layout():
    """Whoever reads batches in another language finds each field where the table says."""
    assert frame().hex() == (
        "c1010001"  # magic, version, columns, priority
        "0000000000000000" "00000000" "00000000"  # offset, generation, zone epoch
        "396ba8a255c26518"  # checksum
        "1da7bc2fccf0fd10" "0700000000000000" "02000000" "03000000"  # key, producer, epoch, partition
        "2900000000000000" "e803000000000000" "03000000" "08000000" "0b"  # first, time, samples, body, topic
        "666c69676874732e4a464b"
        "030000000000000005000000"
        "e8030000e9030000dc050000"
        "6f6e657468726565"
    )  # fmt: skip


def test_a_batch_gives_back_what_went_in():
    """Header, columns and payloads survive the journey."""
    batch = Batch(frame(key_hashes=(1, 2**64 - 1, 3), expiries_ms=(10, 20, 30)))

    assert batch.origin == ORIGIN
    assert (batch.first, batch.last, batch.count) == (41, 43, 3)
    assert list(batch.key_hashes or ()) == [1, 2**64 - 1, 3]
    assert list(batch.expiries_ms or ()) == [10, 20, 30]
    assert [(sample.sequence, sample.published_us, sample.payload) for sample in batch.samples("p", 9)] == [
        (41, 1_000, b"one"),
        (42, 1_001, b""),
        (43, 1_500, b"three"),
    ]


def test_absent_columns_are_none():
    """Columns that nobody filled take no room, and say so."""
    batch = Batch(frame())

    assert batch.key_hashes is None
    assert batch.expiries_ms is None


def test_samples_can_begin_in_the_middle_of_a_batch():
    """A reader that has the first samples of a batch skips them."""
    batch = Batch(frame())

    assert [sample.sequence for sample in batch.samples("p", 9, skip=2)] == [43]
    assert [sample.payload for sample in batch.samples("p", 9, skip=1)] == [b"", b"three"]


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_payloads_of_one_length_are_cut_at_the_same_places(count):
    """The fast way to cut equal payloads gives what the general way gives."""
    payloads = [bytes([number % 256]) * 10 for number in range(count)]

    assert list(Batch(frame(payloads, [5] * count)).payloads()) == payloads
    assert list(Batch(frame(payloads, [5] * count)).payloads(skip=count - 1)) == payloads[-1:]


@pytest.mark.parametrize("base", [0, 2**30, 2**32 - 2, 2**32 - 1, 2**32, 3 * 2**30, 1_795_000_000_000_000])
@pytest.mark.parametrize("step", [1, -1, 1_000_000, -1_000_000])
def test_times_survive_a_carry_and_a_clock_that_was_set(base, step):
    """Only the low half of each time travels; the high half follows from the first sample's."""
    times = [base + 2_000_000, base + 2_000_000 + step, base + 2_000_000]

    assert list(Batch(frame(times=times)).published_us()) == times


def test_the_checksum_leaves_out_what_a_broker_assigns():
    """A broker writes offset and epochs into a batch without touching the rest."""
    stamped = bytearray(frame())
    stamped[4:20] = (77).to_bytes(8, "little") + (5).to_bytes(4, "little") + (6).to_bytes(4, "little")

    batch = Batch(bytes(stamped))

    assert (batch.offset, batch.zone_epoch) == (77, 6)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda _whole: b"", "at least 77 bytes, not 0"),
        (lambda whole: whole[:76], "at least 77 bytes, not 76"),
        (lambda whole: whole[:-1], "does not fit"),
        (lambda whole: whole + b"x", "does not fit"),
        (lambda whole: b"\xc0" + whole[1:], "no batch of version 1"),
        (lambda whole: whole[:1] + b"\x02" + whole[2:], "no batch of version 1"),
        (lambda whole: whole[:2] + b"\x04" + whole[3:], "no batch of version 1"),
        (lambda whole: whole[:68] + b"\xff\xff\xff\xff" + whole[72:], "does not fit"),
        (lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]), "checksum"),
    ],
)
def test_a_damaged_batch_is_refused(damage, why):
    """Whatever arrives is either a sound batch or a RemoteProtocolError."""
    with pytest.raises(RemoteProtocolError, match=why):
        Batch(damage(frame()))


def test_lengths_that_do_not_make_up_the_body_are_refused():
    """A producer that lies about lengths cannot have payloads cut from beyond the body."""
    lying = bytearray(frame())
    lying[88] += 1

    with pytest.raises(RemoteProtocolError, match="lengths"):
        Batch(signed(lying))


@pytest.mark.parametrize(
    ("at", "greatest"), [(4, 2**53), (52, 2**53 - 2), (60, 2**53)], ids=["offset", "first", "time_us"]
)
def test_numbers_that_nothing_can_be_made_of_are_refused(at, greatest):
    """They would overflow only later: in an acknowledgement, a trace, or a reader of JSON."""
    whole = bytearray(frame())
    whole[at : at + 8] = greatest.to_bytes(8, "little")
    assert Batch(signed(whole)).last <= 2**53

    for number in (greatest + 1, 2**63, 2**64 - 1):
        whole[at : at + 8] = number.to_bytes(8, "little")
        with pytest.raises(RemoteProtocolError, match="beyond"):
            Batch(signed(whole))


def test_a_topic_that_is_no_text_is_refused():
    """The topic is UTF-8 or the batch is none."""
    whole = bytearray(frame(origin=Origin("abc", 1, 2)))
    whole[77:80] = b"\xff\xfe\xfd"

    with pytest.raises(RemoteProtocolError, match="not valid UTF-8"):
        Batch(signed(whole))


def test_a_batch_is_cut_when_it_is_full():
    """By bytes, by samples, and never to nothing."""
    small = [b"x"] * (MAX_BATCH_SAMPLES + 5)
    big = [bytes(100_000)] * 10
    huge = [bytes(MAX_PAYLOAD_BYTES)] * 2

    assert fitting(small)[0] == MAX_BATCH_SAMPLES
    assert fitting(big)[0] == BATCH_BYTES // 100_000 + 1
    assert fitting(huge)[0] == 1
    assert fitting([b""])[0] == 1
    assert list(fitting(big)[1]) == [100_000] * 3


@pytest.mark.parametrize("payload", [b"", b"x", b"y" * 100_000])
@pytest.mark.parametrize("topic", ["t", "caf\u00e9", "x" * 255])
def test_a_batch_of_one_is_made_fast_and_is_the_same(topic, payload):
    """Bit for bit what `encode` makes."""
    origin = Origin(topic, 5, 2**64 - 1, 3, 4, 6)
    time_us = 2**40 + 2**33 - 1

    frame = SingleEncoder(origin).encode(9, payload, time_us)

    assert frame == encode(origin, 9, [payload], [time_us])
    (sample,) = Batch(frame).samples("p", 1)
    assert (sample.sequence, sample.published_us, sample.payload) == (9, time_us, payload)
