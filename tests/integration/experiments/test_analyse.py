"""The Spark analysis agrees with a dumb second calculation, and its command line keeps its exit codes."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from chord.spool import Spool
from chord.trace import LookupTrace
from experiments.analyse import analyse
from experiments.analysis.summary import Summary, Verdict
from experiments.report.files import write_verdict
from experiments.report.terminal import show, verdict_lines
from experiments.spark.session import Session
from experiments.traces import examples
from experiments.traces.run import SubscriberInfo
from pubsub.trace import DeliveryTrace, PublicationTrace

START_US = 1_700_000_000_000_000
KILL_US = START_US + 2_000_000
DEADLINE_S = 60.0


@dataclass
class Written:
    """A run directory and the rows that went into it."""

    path: Path
    deliveries: list[DeliveryTrace] = field(default_factory=list)
    lookups: list[LookupTrace] = field(default_factory=list)
    sent: dict[tuple[str, str], int] = field(default_factory=dict)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Two publishers of three topics, subscribers that lose, repeat and come late, and a ring of 8 with failures."""
    chance = random.Random(5)
    written = Written(tmp_path_factory.mktemp("runs") / "small")
    asked = {
        "whole": SubscriberInfo(topics=["a", "b"], from_start=True),
        "late": SubscriberInfo(topics=["a"]),
        "deaf": SubscriberInfo(topics=["c"], from_start=True),
    }
    info = replace(examples.RUN, run="small", source="live", ring_size=8, successors=6, started_us=START_US)
    replace(info, kill_us=KILL_US, subscribers=asked).save(written.path)
    spool = Spool(written.path / "traces", "all")
    for topic, publisher, count in (("a", "p", 400), ("a", "q", 50), ("b", "p", 40_000), ("c", "q", 7)):
        written.sent[topic, publisher] = count
        for first in range(1, count + 1, 9_000):
            last = min(first + 8_999, count)
            spool.append(PublicationTrace(topic=topic, publisher=publisher, first=first, last=last, at_us=START_US))
    for topic, publisher, subscriber, first in (
        ("a", "p", "whole", 3),
        ("a", "q", "whole", 1),
        ("b", "p", "whole", 30_000),
        ("a", "p", "late", 101),
        ("a", "p", "unannounced", 390),
    ):
        for sequence in range(first, written.sent[topic, publisher] + 1):
            if sequence != first and chance.random() < 0.02:
                continue
            for _ in range(1 + (chance.random() < 0.03)):
                published = START_US + sequence * 100
                written.deliveries.append(
                    replace(
                        examples.DELIVERY,
                        topic=topic,
                        publisher=publisher,
                        subscriber=subscriber,
                        sequence=sequence,
                        published_us=published,
                        received_us=published + int(chance.lognormvariate(6, 1)),
                    )
                )
    for number in range(600):
        ok = chance.random() < 0.95
        written.lookups.append(
            replace(
                examples.LOOKUP,
                trace_id=number,
                mode=chance.choice(["iterative", "recursive"]),
                owner=7 if ok else None,
                outcome="ok" if ok else chance.choice(["PeerUnreachable", "LookupFailed"]),
                hops=chance.choice([0, 1, 1, 1, 2]),
                timeouts=0 if ok else 2,
                start_us=START_US + number * 6_000,
                duration_us=int(chance.lognormvariate(7, 0.5)),
                owner_us=int(chance.lognormvariate(5, 0.5)),
            )
        )
    for row in written.deliveries + written.lookups:
        spool.append(row)
    for node in range(8):
        spool.append(replace(examples.EVENT, node=node, at_us=START_US + node * 1_000_000))
    spool.append(replace(examples.EVENT, kind="crash", at_us=KILL_US))
    spool.close()
    return written


@pytest.fixture(scope="session")
def summary(run: Written, spark: Session) -> Summary:
    """The analysis of that run."""
    return analyse([run.path], "local[2]", run.path / "analysis", session=spark)


def nearest_rank(values: list[int], share: float) -> int:
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


def near(value: float) -> Any:
    """Within what a histogram of 64 buckets an octave promises."""
    return pytest.approx(value, rel=0.006, abs=0.5)


def test_subscribers_agree_with_counting_by_hand(run: Written, summary: Summary) -> None:
    """Published from the first sample got, or from the very first where all were asked for; lost, twice, latency."""
    got: dict[str, dict[tuple[str, str], list[DeliveryTrace]]] = defaultdict(lambda: defaultdict(list))
    for row in run.deliveries:
        got[row.subscriber][row.topic, row.publisher].append(row)

    assert [row.subscriber for row in summary.subscribers] == ["deaf", "late", "unannounced", "whole"]
    for row in summary.subscribers:
        flows = got[row.subscriber]
        wanted = {pair for pair in run.sent if row.subscriber == "whole" and pair[0] in ("a", "b")}
        wanted |= {("c", "q")} if row.subscriber == "deaf" else set()
        published = sum(
            run.sent[pair] - (1 if pair in wanted else min(each.sequence for each in flows[pair])) + 1
            for pair in wanted | set(flows)
        )
        rows = [each for flow in flows.values() for each in flow]
        distinct = sum(len({each.sequence for each in flow}) for flow in flows.values())
        assert (row.published, row.delivered, row.distinct) == (published, len(rows), distinct)
        assert (row.lost, row.duplicated) == (published - distinct, len(rows) - distinct)
        assert row.delivered_after_kill == sum(each.published_us > KILL_US for each in rows)
        if rows:
            latencies = [each.received_us - each.published_us for each in rows]
            assert row.latency_us is not None
            assert row.latency_us.max == max(latencies)
            assert row.latency_us.mean == pytest.approx(sum(latencies) / len(latencies), abs=0.06)
            assert row.latency_us.p50 == near(nearest_rank(latencies, 0.5))
            assert row.latency_us.p99 == near(nearest_rank(latencies, 0.99))
    deaf = summary.subscribers[0]
    assert (deaf.published, deaf.delivered, deaf.lost, deaf.latency_us) == (7, 0, 7, None)


def test_deliveries_agree_by_mode_and_topic(run: Written, summary: Summary) -> None:
    """One row for the mode, one for each topic with deliveries."""
    assert [(row.mode, row.topic) for row in summary.deliveries] == [("direct", None), ("direct", "a"), ("direct", "b")]
    for row in summary.deliveries:
        own = [each.received_us - each.published_us for each in run.deliveries if row.topic in (None, each.topic)]
        assert row.count == len(own)
        assert row.latency_us.p99 == near(nearest_rank(own, 0.99))


def test_lookups_agree_with_counting_by_hand(run: Written, summary: Summary) -> None:
    """Hops exactly, latencies within a bucket, outcomes before and after the kill."""
    assert [row.mode for row in summary.lookups] == ["iterative", "recursive"]
    for row in summary.lookups:
        own = [each for each in run.lookups if each.mode == row.mode]
        answered = [each for each in own if each.outcome == "ok"]
        hops = [each.hops for each in answered]
        assert (row.count, row.ok, row.failed) == (len(own), len(answered), len(own) - len(answered))
        assert row.timeouts == sum(each.timeouts for each in own)
        assert row.outcomes == Counter(each.outcome for each in own)
        assert row.after_kill == Counter(each.outcome for each in own if each.start_us > KILL_US)
        assert row.hops is not None and row.latency_us is not None
        assert row.hops.mean == pytest.approx(sum(hops) / len(hops), abs=1e-4)
        assert (row.hops.p50, row.hops.p99) == (nearest_rank(hops, 0.5), nearest_rank(hops, 0.99))
        assert row.hops.max == max(hops)
        assert row.latency_us.p50 == near(nearest_rank([each.duration_us for each in answered], 0.5))
        assert row.owner_us_p50 == near(nearest_rank([each.owner_us for each in answered], 0.5))
        assert (row.half_log2, row.expected_hops) == (1.5, 1.208)
        counts = {each.hops: each.count for each in summary.hops if each.mode == row.mode}
        assert counts == Counter(hops)


def test_time_line_counts_each_second(run: Written, summary: Summary) -> None:
    """Events, deliveries and lookups by outcome; and the events by kind."""
    assert [(row.kind, row.count, row.first_s, row.last_s) for row in summary.events] == [
        ("join", 8, 0.0, 7.0),
        ("crash", 1, 2.0, 2.0),
    ]
    counted = {(point.kind, point.second): point.count for point in summary.timeline}
    assert counted["join", 5] == 1
    assert sum(count for (kind, _), count in counted.items() if kind == "delivery") == len(run.deliveries)
    ok = Counter((each.start_us - START_US) // 1_000_000 for each in run.lookups if each.outcome == "ok")
    assert {second: count for (kind, second), count in counted.items() if kind == "lookup ok"} == ok


def test_files_are_written_beside_the_run(run: Written, summary: Summary) -> None:
    """summary.json holds what the analysis returned, and every figure and table is there."""
    out = run.path / "analysis"
    content = json.loads((out / "summary.json").read_text())

    assert content["subscribers"][1]["subscriber"] == summary.subscribers[1].subscriber
    assert content["rows"]["delivery"] == len(run.deliveries)
    assert set(content["elapsed_s"]) == {"ingest", "wait_for_spark", "queries", "figures", "total"}
    assert {"hops.png", "latency.png", "timeline.png", "lookups.csv", "latency.csv"} <= set(content["files"])
    assert all((out / name).stat().st_size for name in content["files"])


def test_a_sweep_is_counted_by_ring_size_and_by_number_of_clients(tmp_path: Path, spark: Session) -> None:
    """Runs of lookups alone, cut short, and of deliveries: partial runs are runs too."""
    for size in (4, 16):
        replace(examples.RUN, run=f"n{size}", source="sim", ring_size=size, successors=2, seed=1).save(
            tmp_path / f"n{size}"
        )
        spool = Spool(tmp_path / f"n{size}" / "traces", "sim")
        for number in range(20):
            spool.append(replace(examples.LOOKUP, hops=number % 3, start_us=number))
        spool.close()
        with next((tmp_path / f"n{size}" / "traces").iterdir()).open("ab") as file:
            file.write(b"\xdc\x00\x10\xa6lookup\x01")
    for mode in ("direct", "brokered"):
        replace(examples.RUN, run=mode, source="sim", ring_size=8, clients=2).save(tmp_path / mode)
        spool = Spool(tmp_path / mode / "traces", "sim")
        for number in range(1, 11):
            row = replace(examples.DELIVERY, mode=mode, sequence=number, published_us=100, received_us=100 + number)
            spool.append(row)
        spool.append(replace(examples.PUBLICATION, last=10 if mode == "direct" else 12))
        spool.append(replace(examples.LOOKUP, hops=0))
        spool.close()

    found = analyse([tmp_path], "local[2]", tmp_path / "analysis", session=spark)

    sizes = [(row.ring_size, row.count, row.failed, row.hops and row.hops.mean) for row in found.ring_sizes]
    assert sizes == [(4, 20, 0, 0.95), (16, 20, 0, 0.95)]
    assert found.damage["cut_tails"] == 2
    assert [(row.clients, row.mode, row.count, row.lost, row.latency_us.p50) for row in found.clients] == [
        (2, "brokered", 10, 2, 5),
        (2, "direct", 10, 0, 5),
    ]
    assert {"ring-sizes.png", "clients.png", "ring_sizes.csv", "clients.csv"} <= set(found.files)


def test_an_analysis_keeps_the_verdict_of_the_demo(tmp_path: Path, spark: Session) -> None:
    """What verdict.json says comes into summary.json and into what is printed, each time the run is analysed."""
    asked = {"5a3b": SubscriberInfo(topics=["t"], label="EWR 1")}
    replace(examples.RUN, kill_us=1, subscribers=asked).save(tmp_path)
    spool = Spool(tmp_path / "traces", "all")
    spool.append(replace(examples.DELIVERY, subscriber="5a3b"))
    spool.append(replace(examples.LOOKUP, start_us=2))
    spool.close()
    verdict = Verdict(
        outcome="broken", lookups_checked=9, lookups_after_kill=4, failures=["EWR 1 got 1 sample"], elapsed_s=61.5
    )
    write_verdict(verdict, tmp_path)

    found = analyse([tmp_path], "local[2]", tmp_path / "analysis", session=spark)

    content = json.loads((tmp_path / "analysis" / "summary.json").read_text())
    assert content["demo"]["outcome"] == "broken"
    assert (content["demo"]["lookups_after_kill"], content["elapsed_s"]["demo"]) == (4, 61.5)
    assert content["subscribers"][0]["label"] == "EWR 1"
    console = Console(width=80, color_system=None)
    with console.capture() as shown:
        show(found, console)
    text = shown.get()
    assert "delivered to EWR 1" in text and "5a3b" not in text
    assert "publishers and subscribers included" in text
    said = [line.plain for line in verdict_lines(verdict)]
    assert said[1:] == ["not kept: EWR 1 got 1 sample", "demo: failed, in 61.5 s"]


def test_traces_alone_are_analysed_without_what_nobody_knows(tmp_path: Path, spark: Session) -> None:
    """What `dht lookup --trace DIR` left in DIR: hops and latencies are there; N is unknown, and said to be."""
    for number in range(3):
        spool = Spool(tmp_path / "asked", f"lookup-{number}")
        spool.append(replace(examples.LOOKUP, hops=number, start_us=int(time.time() * 1e6)))
        spool.close()

    found = analyse([tmp_path / "asked"], "local[2]", tmp_path / "analysis", session=spark)

    (row,) = found.lookups
    assert (row.source, row.ring_size, row.half_log2, row.expected_hops) == ("unknown", None, None, None)
    assert (row.count, row.hops and row.hops.max) == (3, 2)
    assert 0 <= found.timeline[0].second < 60
    assert "hops.png" in found.files
    console = Console(width=80, color_system=None)
    with console.capture() as shown:
        show(found, console)
    assert "asked: source unknown, unknown number of nodes, commit unknown" in shown.get()


def command(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "experiments", *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S * 2,
        env={**os.environ, **(environment or {})},
        check=False,
    )


def test_command_line_analyses_on_the_java_of_the_wheel(run: Written, tmp_path: Path) -> None:
    """Without JAVA_HOME and with a PATH that has no java; tables of 80 columns, nothing on standard error."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "sh", "dirname", "ps", "env", "uname", "cat", "readlink", "basename", "nohup"):
        place = next((Path(each) / name for each in ("/usr/bin", "/bin") if (Path(each) / name).exists()), None)
        if place is not None:
            (tools / name).symlink_to(place)

    done = command(
        "analyse",
        str(run.path),
        "--out",
        str(tmp_path / "out"),
        environment={"JAVA_HOME": "", "PATH": str(tools), "COLUMNS": "80"},
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "whole" in done.stdout and "half log2 N" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["rows"]["lookup"] == 600


def test_command_line_refuses_what_is_no_run(tmp_path: Path) -> None:
    """One line on standard error and exit code 2."""
    (tmp_path / "run.json").write_text("{}")

    for arguments, said in (
        (["analyse", str(tmp_path / "nowhere")], "is missing; give the directory of a run"),
        (["analyse", str(tmp_path)], "missing required field `run`"),
    ):
        done = command(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr and done.stderr.count("\n") == 1
    assert command("analyse").returncode == 2


def test_command_line_says_when_spark_cannot_start(run: Written, tmp_path: Path) -> None:
    """A master that does not exist is one line and exit code 1."""
    rows_of_its_own = shutil.copytree(run.path, tmp_path / "run", ignore=shutil.ignore_patterns("parquet"))
    done = command("analyse", str(rows_of_its_own), "--master", "nonsense", "--out", str(tmp_path))

    assert done.returncode == 1
    assert "Spark did not start" in done.stderr and "Traceback" not in done.stderr
