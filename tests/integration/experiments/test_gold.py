"""Gold tables agree with a dumb second calculation, and a run that grew has those of one analysed from scratch."""

from __future__ import annotations

import random
import shutil
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from chord.spool import Spool
from chord.trace import HopTrace, LookupTrace
from experiments.analyse import analyse
from experiments.analysis import gold
from experiments.analysis.gold_schema import COLUMNS
from experiments.analysis.histogram import bucket
from experiments.spark.session import Session
from experiments.traces import examples
from experiments.traces.manifest import Store
from experiments.traces.parquet import ingest
from experiments.traces.run import BadRun
from pubsub.trace import DeliveryTrace

START_US = 1_700_000_000_000_000
KILL_US = START_US + 250_000


def lookups(chance: random.Random, count: int, first: int = 0) -> list[LookupTrace]:
    """Lookups of few keys, owned by few, some on longer ways than others."""
    found = []
    for number in range(first, first + count):
        ok = chance.random() < 0.9
        hops = [
            HopTrace(
                node=(node := chance.randrange(8)),
                address=f"a:{node}",
                rtt_us=chance.randrange(900),
                timed_out=chance.random() < 0.2,
            )
            for _ in range(chance.randrange(5))
        ]
        found.append(
            replace(
                examples.LOOKUP,
                trace_id=chance.getrandbits(64),
                mode=chance.choice(["iterative", "recursive"]),
                key=chance.randrange(12),
                owner=chance.choice([1, 1, 1, 2]) if ok else None,
                outcome="ok" if ok else "LookupFailed",
                hops=len(hops),
                timeouts=sum(hop.timed_out for hop in hops),
                start_us=START_US + number * 1_000,
                duration_us=chance.randrange(100_000),
                owner_us=chance.randrange(500),
                hop_list=hops,
            )
        )
    return found


def deliveries(chance: random.Random, count: int, first: int = 1) -> list[DeliveryTrace]:
    """Samples of one publisher to one subscriber, some lost, some twice."""
    found = []
    for sequence in range(first, first + count):
        for _ in range(chance.choice([0, 1, 1, 1, 1, 2])):
            published = START_US + sequence * 1_000
            received = published + chance.randrange(1, 9_000)
            found.append(replace(examples.DELIVERY, sequence=sequence, published_us=published, received_us=received))
    return found


def spool(traces: Path, name: str, rows: list[Any]) -> Path:
    """A finished spool file of these rows."""
    writer = Spool(traces, name)
    for row in rows:
        writer.append(row)
    writer.close()
    return next(path for path in traces.iterdir() if path.name.startswith(name))


def tables(out: Path) -> dict[str, pa.Table]:
    """All gold tables, their rows in an order that does not depend on files."""
    return {name: gold.read(out, name).to_pylist() for name in COLUMNS}


def ordered(found: dict[str, Any]) -> dict[str, list[str]]:
    return {name: sorted(map(repr, rows)) for name, rows in found.items()}


def save(run: Path, name: str, **more: Any) -> None:
    replace(examples.RUN, run=name, source="sim", ring_size=8, vnodes=2, started_us=START_US, **more).save(run)


def test_gold_agrees_with_counting_by_hand(tmp_path: Path, spark: Session) -> None:
    """Every table about lookups, of rows of which some are there twice, and some lack what makes a row whole."""
    chance = random.Random(3)
    rows = lookups(chance, 400)
    run = tmp_path / "run"
    save(run, "r", kill_us=KILL_US)
    spool(run / "traces", "all", [*rows, *rows[:50], replace(rows[0], trace_id=5, duration_us=-1)])
    copied = spool(run / "traces", "some", list(rows[100:150]))
    shutil.copy(copied, copied.with_name("copied.trace"))

    found = analyse([run], "local[2]", tmp_path / "out", session=spark)

    assert found.lookups[0].count + found.lookups[1].count == len(rows)
    gold_of = tables(tmp_path / "out")
    answered = [row for row in rows if row.outcome == "ok"]
    assert {(row["mode"], row["hops"]): row["count"] for row in gold_of["hops"]} == Counter(
        (row.mode, row.hops) for row in answered
    )
    assert {(row["run"], row["source"], row["ring_size"], row["vnodes"]) for row in gold_of["hops"]} == {
        ("r", "sim", 8, 2)
    }
    steps = Counter((row.mode, "lookup" if row.outcome == "ok" else "failed", bucket(row.duration_us)) for row in rows)
    steps += Counter((row.mode, "owner", bucket(row.owner_us)) for row in answered)
    assert {(row["mode"], row["step"], row["bucket"]): row["count"] for row in gold_of["lookup_latency"]} == steps
    for row in gold_of["lookups"]:
        own = [each for each in rows if (each.mode, each.outcome) == (row["mode"], row["outcome"])]
        assert (row["count"], row["timeouts"]) == (len(own), sum(each.timeouts for each in own))
        assert (row["total_us"], row["max_us"]) == (
            sum(each.duration_us for each in own),
            max(each.duration_us for each in own),
        )
        assert row["after_kill"] == sum(each.start_us > KILL_US for each in own)
    _check_nodes(rows, gold_of["node_load"])
    _check_keys(rows, gold_of["hot_keys"], gold_of["consistency"])
    longest = sorted(rows, key=lambda each: (-each.duration_us, each.start_us))[:20]
    assert [row["trace_id"] for row in sorted(gold_of["slowest"], key=lambda row: row["rank"])] == [
        f"{each.trace_id:016x}" for each in longest
    ]
    after = [each for each in rows if each.start_us > KILL_US and each.outcome != "ok"]
    (failed,) = [row for row in gold_of["failover"] if row["kind"] == "lookup LookupFailed"]
    assert (failed["fault"], failed["count"]) == ("kill", len(after))
    assert failed["ms"] == max(each.start_us + each.duration_us - KILL_US for each in after) / 1e3


def _check_nodes(rows: list[LookupTrace], found: list[dict[str, Any]]) -> None:
    """How often each was asked, by how many it was named, and what it owns."""
    asked, late = Counter[str](), Counter[str]()
    named: dict[str, set[str]] = defaultdict(set)
    owned: dict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        via = None
        for hop in row.hop_list:
            node = f"{hop.node:016x}"
            asked[node] += 1
            late[node] += hop.timed_out
            if via is not None:
                named[node].add(via)
            via = via if hop.timed_out else node
        if row.owner is not None:
            owned[f"{row.owner:016x}"][row.key] += 1
    assert {row["node"] for row in found} == set(asked) | set(owned)
    for row in found:
        node = row["node"]
        keys = owned[node]
        assert (row["lookups_routed"], row["timeouts"]) == (asked[node], late[node])
        assert row["in_degree"] == (len(named[node]) or None)
        assert (row["owned"], row["keys"], row["hottest"]) == (
            sum(keys.values()),
            len(keys),
            max(keys.values(), default=0),
        )


def _check_keys(rows: list[LookupTrace], hot: list[dict[str, Any]], consistency: list[dict[str, Any]]) -> None:
    """The keys that were asked for most, and those for which two owners were named at once."""
    asked = Counter(f"{row.key:016x}" for row in rows)
    assert {row["key"]: row["count"] for row in hot} == asked
    assert [asked[row["key"]] for row in sorted(hot, key=lambda row: row["rank"])] == sorted(
        asked.values(), reverse=True
    )
    ended: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.owner is not None:
            ended[row.key][row.owner].append(row.start_us + row.duration_us)
    several = {key: owners for key, owners in ended.items() if len(owners) > 1}
    at_once = [
        owners
        for owners in several.values()
        if max(min(times) for times in owners.values()) <= min(max(times) for times in owners.values())
    ]
    (row,) = consistency
    assert (row["keys"], row["lookups"]) == (len(asked), len(rows))
    assert (row["keys_conflicting"], row["keys_moved"]) == (len(at_once), len(several) - len(at_once))
    assert row["lookups_conflicting"] == sum(
        sum(map(len, owners.values())) - max(map(len, owners.values())) for owners in at_once
    )


def test_flows_tell_losses_from_duplicates(tmp_path: Path, spark: Session) -> None:
    """A sample that came at two times is a duplicate; a row that was written twice is not."""
    rows = deliveries(random.Random(4), 300)
    run = tmp_path / "run"
    save(run, "r", clients=2, dissemination="direct")
    spool(run / "traces", "all", [*rows, *rows[:40], replace(examples.PUBLICATION, last=300)])

    analyse([run], "local[2]", tmp_path / "out", session=spark)

    (flow,) = gold.read(tmp_path / "out", "flows").to_pylist()
    distinct = len({row.sequence for row in rows})
    first = min(row.sequence for row in rows)
    assert (flow["delivered"], flow["distinct"], flow["published"]) == (len(rows), distinct, 301 - first)
    assert (flow["lost"], flow["duplicated"]) == (301 - first - distinct, len(rows) - distinct)
    found = gold.read(tmp_path / "out", "delivery").to_pylist()
    assert {row["bucket"]: row["count"] for row in found} == Counter(
        bucket(row.received_us - row.published_us) for row in rows
    )
    assert {(row["dissemination"], row["topic"], row["clients"]) for row in found} == {("direct", "t", 2)}


def test_a_run_that_grew_has_the_gold_of_one_from_scratch(tmp_path: Path, spark: Session) -> None:
    """A spool that was torn and went on, new spools of the same time and of later ones, rows that are there already, a
    part that was run again, one that is gone, and one that is new; and only what is new is read."""
    chance = random.Random(6)
    run, out = tmp_path / "run", tmp_path / "out"
    for name in ("a", "b", "c"):
        save(run / name, name, kill_us=KILL_US)
    first = lookups(chance, 200)
    path = spool(
        run / "a" / "traces", "one", [*first, *deliveries(chance, 100), replace(examples.EVENT, at_us=KILL_US)]
    )
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    spool(run / "b" / "traces", "two", lookups(chance, 50))
    spool(run / "c" / "traces", "three", lookups(chance, 50))
    analyse([run], "local[2]", out, session=spark)
    kept = (out / "gold" / "hops" / "run=a" / "part-0.parquet").stat().st_mtime_ns

    path.write_bytes(whole)
    later = spool(run / "a" / "traces", "later", [*lookups(chance, 100, 300), *first[:30], *deliveries(chance, 50, 90)])
    save(run / "b", "b", kill_us=KILL_US + 1)
    spool(run / "b" / "traces", "more", lookups(chance, 20))
    shutil.rmtree(run / "c")
    save(run / "d", "d", kill_us=KILL_US)
    spool(run / "d" / "traces", "four", lookups(chance, 30))
    grown = analyse([run], "local[2]", out, session=spark)

    shutil.copytree(run, tmp_path / "fresh", ignore=shutil.ignore_patterns("parquet"))
    scratch = analyse([tmp_path / "fresh"], "local[2]", tmp_path / "scratch", session=spark)
    assert ordered(tables(out)) == ordered(tables(tmp_path / "scratch"))
    assert {row["run"] for row in tables(out)["hops"]} == {"a", "b", "d"}
    assert (grown.rows, grown.damage, grown.lookups) == (scratch.rows, scratch.damage, scratch.lookups)
    assert later.exists() and (out / "gold" / "hops" / "run=a" / "part-0.parquet").stat().st_mtime_ns > kept
    again = analyse([run], "spark://nowhere:1", out)
    assert again.elapsed_s["wait_for_spark"] == 0, "nothing is new, and no Spark is needed"
    assert again.lookups == grown.lookups


def test_bronze_of_an_older_version_lacks_columns(tmp_path: Path, spark: Session) -> None:
    """They are null, and what is counted does not need them."""
    run = tmp_path / "run"
    save(run, "r")
    spool(run / "traces", "all", lookups(random.Random(7), 40))
    ingest(run)
    store = Store(run)
    for name in store.manifest.pending["lookup"]:
        older = pq.read_table(store.folder / name).drop_columns(["clients", "owner_us", "hop_list"])
        pq.write_table(older, store.folder / name)
    store.save()

    found = analyse([run], "local[2]", tmp_path / "out", session=spark)

    assert sum(row.count for row in found.lookups) == 40


def test_static_rings_and_the_wire_add_to_gold(tmp_path: Path, spark: Session) -> None:
    """Hop counts that a static ring left, and latencies on the wire, beside traces or without any."""
    run = tmp_path / "run"
    save(run / "s", "s")
    pq.write_table(
        pa.table({"source": ["static"], "seed": [4], "ring_size": [1 << 20], "vnodes": [1], "mode": ["iterative"],
                  "hops": [9], "count": [1000], "timeouts": [0]}),
        run / "s" / "aggregates.parquet",
    )  # fmt: skip
    pq.write_table(
        pa.table({"topic": ["t"], "sequence": [1], "app_us": [900], "wire_us": [400]}), run / "s" / "wire.parquet"
    )

    analyse([run], "local[2]", tmp_path / "out", session=spark)

    (row,) = gold.read(tmp_path / "out", "hops").to_pylist()
    assert (row["source"], row["ring_size"], row["hops"], row["count"]) == ("static", 1 << 20, 9, 1000)
    assert gold.read(tmp_path / "out", "wire").to_pylist() == [
        {"run": "s", "topic": "t", "sequence": 1, "app_us": 900, "wire_us": 400}
    ]
    pq.write_table(pa.table({"hops": [1]}), run / "s" / "aggregates.parquet")
    with pytest.raises(BadRun, match="lacks mode, count"):
        analyse([run], "local[2]", tmp_path / "out", session=spark)


def test_runs_are_added_to_one_folder(tmp_path: Path, spark: Session) -> None:
    """Together or one after the other; two of one name are refused."""
    for name in ("x", "y"):
        save(tmp_path / name, name)
        spool(tmp_path / name / "traces", "all", lookups(random.Random(8), 20))
    both = analyse([tmp_path / "x", tmp_path / "y"], "local[2]", tmp_path / "both", session=spark)
    for name in ("x", "y"):
        analyse([tmp_path / name], "local[2]", tmp_path / "out", session=spark)

    assert ordered(tables(tmp_path / "out")) == ordered(tables(tmp_path / "both"))
    assert [run["run"] for run in both.runs] == ["x", "y"]
    shutil.copytree(tmp_path / "x", tmp_path / "z")
    with pytest.raises(BadRun, match="are both named 'x'; analyse them apart"):
        analyse([tmp_path / "x", tmp_path / "z"], "local[2]", tmp_path / "both", session=spark)
    with pytest.raises(BadRun, match=r"holds a run 'x' of .* already; give another --out"):
        analyse([tmp_path / "z"], "local[2]", tmp_path / "both", session=spark)
