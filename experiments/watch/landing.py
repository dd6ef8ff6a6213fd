"""The folder that the stream reads: each file is whole when it appears, and says of which bytes its rows were made.

Rows, and how far spool files were read for them, become visible by one rename. So whatever kills the process, either
both are there or neither is, and the bytes are read again: no row lands twice, and none is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.traces.changes import read
from experiments.traces.damaged import counted_anew, undamaged
from experiments.traces.manifest import Seen
from experiments.traces.run import Part
from experiments.traces.spools import Damage
from experiments.traces.writing import COMPRESSION
from experiments.watch.growing import growth
from experiments.watch.samples import SCHEMA, samples

FOLDER = "landing"
FOOTER = b"ringcast.spools"
MOST_ROWS = 2_000_000
"""So many rows end a file, which has as many more as its last spool file has: what this process holds of a backlog.

A batch of the stream takes several such files."""


class Landing:
    """The folder `landing` in `place`, and how far each spool file was read. For one process, and one thread of it."""

    def __init__(self, place: Path, base: Path) -> None:
        self.folder = place / FOLDER
        self.rows = 0
        self.files = 0
        self.seen: dict[str, Seen] = {}
        self._base = base
        self._unlanded: set[str] = set()
        self.folder.mkdir(parents=True, exist_ok=True)
        for torn in self.folder.glob(".*.new"):
            torn.unlink()
        for path in sorted(self.folder.glob("*.parquet")):
            self._remember(path)

    def land(self, found: Sequence[Part], now_us: int) -> int:
        """Read on in the spool files of these parts; how many rows of a new file have landed, 0 if there were none."""
        batches: list[pa.RecordBatch] = []
        rows = 0
        for change in growth(found, self.seen, self._base):
            reading, beginning = read(change)
            if reading.settled.unreadable:  # it may be there the next time
                continue
            batch, bad = samples(reading.rows, change.part.info, now_us)
            settled = self.seen[change.name].settled if change.start else Damage()
            settled.add(reading.settled)
            settled.bad_rows += bad
            self.seen[change.name] = Seen(
                end=reading.end,
                size=change.size,
                changed_ns=change.changed_ns,
                head=beginning,
                settled=settled,
                open=reading.open,
            )
            self._unlanded.add(change.name)
            if batch.num_rows:
                batches.append(batch)
                rows += batch.num_rows
            if rows >= MOST_ROWS:
                break
        if batches:
            self._write(pa.Table.from_batches(batches))
        return rows

    def damage(self) -> Damage:
        """What was passed over in all spool files, and in which of them."""
        total = Damage()
        for name, seen in sorted(self.seen.items()):
            total.add(seen.settled)
            total.add(seen.open)
            if seen.settled or seen.open:
                total.files.append(name)
        return total

    def _write(self, table: pa.Table) -> None:
        """Its name is new for ever: a stream leaves out what it has seen under the same name."""
        spools = {name: self.seen[name] for name in sorted(self._unlanded)}
        name = f"{self.files:08d}-{uuid4().hex[:8]}.parquet"
        fresh = self.folder / f".{name}.new"
        schema = SCHEMA.with_metadata({FOOTER: msgspec.json.encode(spools)})
        table = table.unify_dictionaries().replace_schema_metadata(schema.metadata)
        pq.write_table(table, fresh, compression=COMPRESSION)
        fresh.rename(self.folder / name)
        self._unlanded.clear()
        self.files += 1
        self.rows += table.num_rows

    def _remember(self, path: Path) -> None:
        with undamaged(path, counted_anew(self.folder.parent)):
            footer = pq.read_metadata(path)
            told = (footer.metadata or {}).get(FOOTER, b"")
            spools: Mapping[str, Seen] = msgspec.json.decode(told, type=dict[str, Seen])
        self.seen.update(spools)
        self.files = max(self.files, int(path.name.partition("-")[0]) + 1)
        self.rows += footer.num_rows
