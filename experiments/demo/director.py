"""The course of the demo: ring, zones, subscribers, publishers, two kills, end, analysis, verdict."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from rich.console import Console

from broker.local_ring import LocalRing, Node
from broker.processes import ProcessFailed
from chord.client import RingClient
from chord.settings import Settings
from experiments.analyse import analyse
from experiments.analysis.summary import FAILED, INTERRUPTED, Summary, Verdict
from experiments.demo.crew import END_S, Worker
from experiments.demo.display import Display
from experiments.demo.picture import Seat
from experiments.demo.verdict import judge, read_answers
from experiments.demo.zones import REPLICAS, ZONES, DemoZones
from experiments.report.files import write_summary, write_verdict
from experiments.report.terminal import print_summary, progress_bar
from experiments.rings.settle import wait_for_full_lists
from experiments.traces.run import RunInfo, SubscriberInfo
from sim.commit import checked_out

TOPICS = ("flights.EWR", "flights.JFK", "flights.LGA")
NODES = 16
LOOKUP_RATE = 100.0
READY_S = 30.0
KILL_WHEN_SENT = 0.4
KILL_PRIMARY_WHEN_SENT = 0.55
"""Shares of the rows that were published when a ring node, and later a zone's primary, is killed."""

TURN_S = 0.05


class Demo:
    """One run of the demo, in a run directory of its own, which says what it is even if the demo ends early."""

    def __init__(self, runs: Path, seconds: float, master: str, as_json: bool = False) -> None:
        self._run = runs / datetime.now().strftime("demo-%Y%m%d-%H%M%S")
        self._traces = self._run / "traces"
        self._seconds = seconds
        self._master = master
        self._as_json = as_json
        self._console = Console(stderr=as_json)
        self._display = Display(self._console)
        self._started = time.monotonic()
        self._info = RunInfo(
            run=self._run.name,
            source="live",
            cluster="ringcast",
            ring_size=NODES,
            successors=Settings().successors,
            bits=64,
            commit=checked_out(),
            started_us=time.time_ns() // 1000,
        )
        self._workers: list[Worker] = []
        self._before: list[int] = []
        self._after: list[int] = []
        self._killed_at = 0.0

    def play(self) -> bool:
        """Run it all and print the tables; whether every promise was kept."""
        self._traces.mkdir(parents=True)
        self._info.save(self._run)
        try:
            self._perform()
            verdict, summary = self._judge()
        except BaseException as error:
            self._leave(error)
            raise
        summary.add_verdict(verdict)
        write_summary(summary, self._run / "analysis")
        if self._as_json:
            sys.stdout.buffer.write(summary.as_json())
            sys.stdout.flush()
        else:
            print_summary(summary, self._run / "analysis")
        return not verdict.failures

    def _perform(self) -> None:
        display = self._display
        try:
            with ExitStack() as stack:
                stack.enter_context(display)
                ring = stack.enter_context(LocalRing(self._traces))
                zones = DemoZones(self._run / "zookeeper", self._traces)
                stack.callback(zones.close)
                stack.callback(self._kill_workers)
                zones.launch_zookeeper()
                self._form_ring(ring, display)
                self._form_zones(ring, zones, display)
                self._publish(ring, zones, display)
                self._end(display)
                display.phase = "Spark reads the traces"
                display.say(f"publishing is over; {display.phase}")
        finally:
            self._info.subscribers = self._subscribers()
            self._info.save(self._run)

    def _judge(self) -> tuple[Verdict, Summary]:
        with progress_bar() as progress:
            summary = analyse([self._run], self._master, self._run / "analysis", progress)
        answers = read_answers(self._run / "answers.msgpack")
        verdict = judge(answers, self._before, self._after, self._killed_at, summary)
        verdict.elapsed_s = self._elapsed_s()
        write_verdict(verdict, self._run)
        return verdict, summary

    def _leave(self, error: BaseException) -> None:
        """Leave word of an early end."""
        interrupted = isinstance(error, (KeyboardInterrupt, SystemExit))
        said = f"it was interrupted; last: {self._display.phase}" if interrupted else str(error)
        outcome = INTERRUPTED if interrupted else FAILED
        write_verdict(Verdict(outcome=outcome, failures=[said], elapsed_s=self._elapsed_s()), self._run)
        self._display.say(f"ended early; its traces are in {self._run}")

    # The course ----------------------------------------------------------------------------------------------------

    def _form_ring(self, ring: LocalRing, display: Display) -> None:
        display.phase = f"starting {NODES} ring nodes"
        display.say(display.phase)
        first = ring.launch([])
        ring.wait_ready([first])
        nodes = [ring.launch([first.address]) for _ in range(NODES - 1)]
        while not all(node.address for node in nodes):
            ring.look()
            display.seats = [Seat(node.address, node.identifier) for node in ring.nodes if node.address]
            display.update([])
            time.sleep(TURN_S)
        views = wait_for_full_lists(ring)
        display.seats = [Seat(node.address, node.identifier) for node in ring.nodes]
        display.say(f"one ring of {len(views)} members, every list full and in order")
        self._before = [node.identifier for node in ring.nodes]

    def _form_zones(self, ring: LocalRing, zones: DemoZones, display: Display) -> None:
        via = ring.addresses()[:3]
        display.phase = f"starting {len(ZONES)} zones of {REPLICAS} brokers; ZooKeeper elects their primaries"
        display.say(display.phase)
        zones.launch(via)
        self._wait(lambda: zones.ready and zones.in_sync(via), READY_S, display)

    def _publish(self, ring: LocalRing, zones: DemoZones, display: Display) -> None:
        victim, topics = self._victim(ring)
        for seat in display.seats:
            seat.topics = topics.get(seat.address, [])
        others = [node.address for node in ring.nodes if node is not victim]
        subscribers = [
            self._start(f"subscriber {_airport(topic)} {how}", "subscribe", topic, how, ring.addresses()[:3])
            for topic in TOPICS
            for how in ("direct", "brokered")
        ]
        asking = self._start("lookups", "ask", str(self._run / "answers.msgpack"), str(LOOKUP_RATE), others[:4])
        display.phase = "6 subscribers register, half of them with a zone; 3 publishers find them on the ring"
        display.say(display.phase)
        self._wait(lambda: all(worker.ready for worker in (*subscribers, asking)), READY_S, display)
        publishers = [
            self._start(f"publisher {_airport(topic)}", "publish", topic, str(self._seconds), ring.addresses()[-3:])
            for topic in TOPICS
        ]
        self._wait(lambda: all(worker.ready for worker in publishers), READY_S, display)
        for publisher in publishers:
            publisher.begin()
        total = sum(int(publisher.heard["total"]) for publisher in publishers)
        display.phase = f"publishing {total:,} departures over {self._seconds:.0f} s"
        display.say(display.phase)

        def sent() -> int:
            return sum(publisher.count for publisher in publishers)

        self._wait(lambda: sent() >= KILL_WHEN_SENT * total, 3 * self._seconds, display)
        self._kill(ring, victim, display, total - sent(), topics[victim.address])
        self._wait(lambda: sent() >= KILL_PRIMARY_WHEN_SENT * total, 3 * self._seconds, display)
        self._kill_primary(ring, zones, display, total - sent())
        self._wait(lambda: all(publisher.done for publisher in publishers), 3 * self._seconds, display)

    def _victim(self, ring: LocalRing) -> tuple[Node, dict[str, list[str]]]:
        """A node that owns one of the topics, and which topics each node owns."""
        owned: dict[str, list[str]] = {}
        with RingClient(ring.addresses()[:3], trace=self._traces, label="demo") as client:
            for topic in TOPICS:
                owner = client.lookup(topic).owner
                assert owner is not None
                owned.setdefault(owner.address, []).append(topic)
        return next(node for node in ring.nodes if node.address in owned), owned

    def _kill(self, ring: LocalRing, victim: Node, display: Display, unsent: int, topics: list[str]) -> None:
        ring.kill(victim)
        self._killed_at = time.monotonic()
        self._info.kill_us = time.time_ns() // 1000
        self._after = [node.identifier for node in ring.nodes]
        for seat in display.seats:
            seat.killed = seat.killed or seat.address == victim.address
        display.phase = f"kill -9 of {victim.address}, owner of {', '.join(topics)}"
        display.say(f"{display.phase}; {unsent:,} rows unsent")

    def _kill_primary(self, ring: LocalRing, zones: DemoZones, display: Display, unsent: int) -> None:
        """Kill the primary of the zone that most of the brokered subscribers read from."""
        read = [each.heard["zone"] for each in self._workers if each.part == "subscribe" and each.heard["zone"]]
        zone = max(ZONES, key=read.count)
        broker = zones.kill_primary(zone, ring.addresses()[:3])
        self._info.primary_kill_us, self._info.killed_zone = zones.killed_us, zone
        display.phase = f"kill -9 of {broker.address}, primary of {zone}"
        display.say(f"{display.phase}; {unsent:,} rows unsent")

    def _end(self, display: Display) -> None:
        """Let subscribers receive what their zones still have for them, and end everybody."""
        sent = {each.what: each.count for each in self._workers if each.part == "publish"}
        subscribers = [each for each in self._workers if each.part == "subscribe"]
        deadline = time.monotonic() + END_S
        self._wait(
            lambda: all(each.count >= sent[each.what] for each in subscribers) or time.monotonic() > deadline,
            2 * END_S,
            display,
        )
        for worker in self._workers:
            if worker.part != "publish":
                worker.end()
        self._wait(lambda: all(worker.done for worker in self._workers), END_S, display)
        for worker in self._workers:
            worker.process.wait(END_S)

    # Processes -----------------------------------------------------------------------------------------------------

    def _start(self, label: str, part: str, what: str, how: str, via: list[str]) -> Worker:
        worker = Worker(label, part, what, how, self._traces, via)
        self._workers.append(worker)
        return worker

    def _wait(self, condition: Callable[[], bool], timeout_s: float, display: Display) -> None:
        deadline = time.monotonic() + timeout_s
        while True:
            for worker in self._workers:
                worker.listen()
            display.update(self._workers)
            if condition():
                return
            if time.monotonic() > deadline:
                raise ProcessFailed(f"the demo got no further than {display.phase!r} within {timeout_s:.0f} s")
            time.sleep(TURN_S)

    def _kill_workers(self) -> None:
        for worker in self._workers:
            worker.kill()

    # Results -------------------------------------------------------------------------------------------------------

    def _subscribers(self) -> dict[str, SubscriberInfo]:
        return {
            worker.heard["id"]: SubscriberInfo(
                topics=[worker.what],
                from_start=True,
                label=worker.label.removeprefix("subscriber "),
                zone=worker.heard["zone"] or None,
            )
            for worker in self._workers
            if worker.part == "subscribe" and worker.ready
        }

    def _elapsed_s(self) -> float:
        return round(time.monotonic() - self._started, 1)


def _airport(topic: str) -> str:
    return topic.rpartition(".")[2]
