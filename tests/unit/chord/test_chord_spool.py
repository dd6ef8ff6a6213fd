"""Trace spools: what is written is read back, file by file, and a killed writer loses its last moment only."""

from __future__ import annotations

import pytest

from chord import spool
from chord.errors import LocalProtocolError
from chord.spool import Spool
from chord.trace import SCHEMA_VERSION, EventTrace
from tests.spools import read_rows


def row(number: int) -> EventTrace:
    return EventTrace(kind="test", node=number, address="a:1", at_us=number, detail="")


def numbers(path) -> list[int]:
    return [fields[2] for fields in read_rows(path) if fields[0] == "event"]


def test_every_file_begins_with_a_header(tmp_path):
    """Schema version and writer, so that a file can be read alone."""
    with_colon = Spool(tmp_path, "node-127.0.0.1:5000/x")
    with_colon.append(row(1))
    with_colon.close()

    (path,) = tmp_path.iterdir()
    header, event = read_rows(path)
    assert header[:3] == ["header", SCHEMA_VERSION, "node-127.0.0.1:5000/x"]
    assert event[:4] == ["event", "test", 1, "a:1"]
    assert ":" not in path.name and path.suffix == ".trace"


def test_a_growing_file_has_another_name(tmp_path):
    """*.part until it is closed, *.trace then; closing twice is harmless."""
    writer = Spool(tmp_path, "p")
    writer.append(row(1))
    writer.flush()
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"]

    writer.close()
    writer.close()

    assert [path.suffix for path in tmp_path.iterdir()] == [".trace"]


@pytest.mark.parametrize("flush", [False, True], ids=["by size", "flushed each time"])
def test_a_full_file_is_followed_by_the_next(tmp_path, monkeypatch, flush):
    """After so many rows, however they came to the file; no row is lost or doubled."""
    monkeypatch.setattr(spool, "ROWS_PER_FILE", 10)
    writer = Spool(tmp_path, "p")

    for number in range(35):
        writer.append(row(number))
        if flush:
            writer.flush()
    writer.close()

    paths = sorted(tmp_path.iterdir())
    assert [len(numbers(path)) for path in paths] == [10, 10, 10, 5]
    assert [number for path in paths for number in numbers(path)] == list(range(35))
    assert all(next(iter(read_rows(path)))[0] == "header" for path in paths)


def test_a_row_cut_short_ends_the_file_quietly(tmp_path):
    """A killed writer leaves half a row: all before it is read."""
    writer = Spool(tmp_path, "p")
    for number in range(5):
        writer.append(row(number))
    writer.close()
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()

    for cut in range(1, 12):
        path.write_bytes(whole[:-cut])
        assert numbers(path) == [0, 1, 2, 3]
    path.write_bytes(b"")
    assert list(read_rows(path)) == []


def test_two_writers_of_one_name_do_not_meet(tmp_path):
    """A directory is shared by many processes; a second spool of one process starts where the first one is."""
    for process in ("a", "b"):
        writer = Spool(tmp_path / "new" / "folder", process)
        writer.append(row(1))
        writer.close()

    assert len(list((tmp_path / "new" / "folder").iterdir())) == 2


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    """A file in the way: an error for a person, before anything runs."""
    (tmp_path / "file").write_text("")

    with pytest.raises(LocalProtocolError, match=r"traces cannot be left in .*file: "):
        Spool(tmp_path / "file", "p")
