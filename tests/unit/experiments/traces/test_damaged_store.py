"""What an analysis keeps of a run is made again from the traces when a file of it is not as it was left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from experiments.analyse import analyse
from experiments.analysis import state
from experiments.analysis.schemas import COLUMNS, OF_KEYS
from experiments.traces import examples
from experiments.traces.damaged import Damaged
from experiments.traces.manifest import STATE, Store
from experiments.traces.parquet import ingest


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of two parts that was read, and of which something was counted."""
    for name in ("a", "b"):
        replace(examples.RUN, run=name).save(tmp_path / name)
        (tmp_path / name / "traces").mkdir()
        (tmp_path / name / "traces" / "t.trace").write_bytes(msgspec.msgpack.encode(examples.LOOKUP))
    ingest(tmp_path)
    _count(tmp_path)
    return tmp_path


def _count(run: Path) -> None:
    """Leave what an analysis leaves, as one without Spark would: a state, and nothing pending."""
    store = Store(run)
    store.manifest.pending = {table: [] for table in store.manifest.pending}
    store.manifest.state = "000007"
    (store.folder / STATE / "000007").mkdir(parents=True)
    tables, of_keys = ({name: each.empty_table() for name, each in kind.items()} for kind in (COLUMNS, OF_KEYS))
    state.save(state.State(tables, of_keys, None), store.folder / STATE / "000007")
    store.save()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


@pytest.mark.parametrize("damage", [cut, Path.unlink], ids=["cut", "removed"])
@pytest.mark.parametrize("file", ["state/000007/cells.parquet", "lookup/*.parquet"])
def test_a_file_that_is_not_whole_has_everything_read_anew(
    run: Path, file: str, damage: Callable[[Path], None]
) -> None:
    """Also when a part went away meanwhile, whose rows would have to be taken out of it."""
    (path,) = (run / "parquet").glob(file)
    damage(path)
    (run / "b" / "run.json").unlink()

    again = ingest(run)

    assert (again.files, again.rows["lookup"]) == (1, 1)
    store = Store(run)
    assert (store.manifest.state, list(store.manifest.parts)) == (None, ["a"])
    assert store.manifest.pending["lookup"]


def test_what_is_whole_is_not_read_again(run: Path) -> None:
    """Nor when the manifest is of a version that did not note how long its files are."""
    assert ingest(run).files == 0
    store = Store(run)
    store.manifest.sizes = {}
    (store.folder / "manifest.json").write_bytes(msgspec.json.encode(store.manifest))

    assert ingest(run).files == 0


def test_damage_that_no_size_tells_is_a_sentence(run: Path) -> None:
    """It names the folder, and what that is made from."""
    path = run / "parquet" / STATE / "000007" / "cells.parquet"
    path.write_bytes(bytes(path.stat().st_size))

    with pytest.raises(Damaged, match=r"parquet is damaged \(.*\); remove .*/parquet, which is made again from the tr"):
        analyse([run], "spark://nowhere:1", run / "out")
