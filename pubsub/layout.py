"""Batches: samples of one topic and one producer, in one frame, as they travel and are stored end to end.

    offset  bytes  field
         0      1  0xC1, which begins no MessagePack value: what tells a batch from a control message
         1      1  version of this layout
         2      1  columns present beside lengths and times: 1 key hashes, 2 expiries
         3      1  priority
         4      8  offset in the partition's log     | assigned by a broker, 0 when direct;
        12      4  partition generation              | the checksum leaves these out
        16      4  zone epoch                        |
        20      8  checksum: low 64 bits of mmh3 x64 128, seed 0, of everything from byte 28 on
        28      8  key of the topic
        36      8  producer id
        44      4  producer epoch
        48      4  partition, 0 when direct
        52      8  sequence of the first sample
        60      8  time of the first sample, microseconds since the epoch
        68      4  samples
        72      4  bytes of the body
        76      1  bytes of the topic, then the topic in UTF-8
                4  for each sample: bytes of its payload
                4  for each sample: low 32 bits of its time
                8  for each sample, if present: hash of its key
                4  for each sample, if present: milliseconds until it expires
                   the body: the payloads, one after the other

Little-endian. Offset, sequences and the time of the first sample are at most 2**53. This is the full header: nothing of
it is left out by any client. A broker reads it, and slices the body by the lengths, without decoding a sample.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable

import mmh3
import msgspec

MAGIC = 0xC1
VERSION = 1
HAS_KEYS = 1
HAS_EXPIRIES = 2

HEAD = struct.Struct("<BBBBQIIQQQIIQQIIB")
ZONE_EPOCH = struct.Struct("<I")
ZONE_EPOCH_AT = 16
CHECKSUM_AT = 20
CHECKED_FROM = 28
LOW_HALF = 2**32 - 1
digest: Callable[[bytes | memoryview, int], bytes] = mmh3.mmh3_x64_128_digest

if struct.calcsize("<I") != array("I").itemsize or array("Q").itemsize != 8:  # pragma: no cover
    raise ImportError("batches need arrays of 32-bit and 64-bit integers")


class Origin(msgspec.Struct, frozen=True, gc=False):
    """What every batch of one producer on one topic has in common."""

    topic: str
    key: int
    producer: int
    epoch: int = 1
    partition: int = 0
    priority: int = 0


def checksum(frame: bytes | bytearray) -> bytes:
    """The low 64 bits of the digest, which come first: it is little-endian, as all of a batch."""
    return digest(memoryview(frame)[CHECKED_FROM:], 0)[:8]


def stamp(frame: bytearray, zone_epoch: int) -> None:
    """Write the epoch of a zone into a batch."""
    ZONE_EPOCH.pack_into(frame, ZONE_EPOCH_AT, zone_epoch)
