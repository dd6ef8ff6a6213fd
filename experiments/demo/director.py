"""The course of the demo: ring, subscribers, publishers, kill, end, analysis, verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import msgspec
from rich.console import Console

from chord.client import RingClient
from chord.settings import Settings
from experiments.analyse import analyse
from experiments.analysis.summary import Summary
from experiments.demo.crew import END_S, Worker
from experiments.demo.display import Display, Seat
from experiments.demo.verdict import Verdict, judge, read_answers
from experiments.report.files import write_summary
from experiments.report.terminal import print_summary, progress_bar
from experiments.rings.processes import LocalRing, Node, ProcessFailed
from experiments.rings.settle import wait_for_full_lists
from experiments.traces.run import RunInfo, SubscriberInfo
from sim.commit import checked_out

TOPICS = ("flights.EWR", "flights.JFK", "flights.LGA")
NODES = 16
LOOKUP_RATE = 100.0
READY_S = 30.0
KILL_WHEN_SENT = 0.5
TURN_S = 0.05


class Demo:
    """One run of the demo, in a run directory of its own."""

    def __init__(self, runs: Path, seconds: float, master: str) -> None:
        self._run = runs / datetime.now().strftime("demo-%Y%m%d-%H%M%S")
        self._traces = self._run / "traces"
        self._seconds = seconds
        self._master = master
        self._console = Console()
        self._started = time.monotonic()
        self._started_us = time.time_ns() // 1000
        self._workers: list[Worker] = []
        self._before: list[int] = []
        self._after: list[int] = []
        self._killed_at = 0.0
        self._kill_us = 0

    def play(self) -> bool:
        """Run it all and print the tables; whether every promise was kept."""
        self._traces.mkdir(parents=True)
        with ExitStack() as stack:
            display = stack.enter_context(Display(self._console))
            ring = stack.enter_context(LocalRing(self._traces))
            stack.callback(self._kill_workers)
            self._form_ring(ring, display)
            self._publish(ring, display)
            self._end(display)
            display.say("publishing is over; Spark reads the traces")
        self._save_run()
        with progress_bar() as progress:
            summary = analyse(self._run, self._master, self._run / "analysis", progress)
        answers = read_answers(self._run / "answers.msgpack")
        verdict = judge(answers, self._before, self._after, self._killed_at, summary)
        return self._report(summary, verdict)

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

    def _publish(self, ring: LocalRing, display: Display) -> None:
        victim, topics = self._victim(ring)
        for seat in display.seats:
            seat.topics = topics.get(seat.address, [])
        others = [node.address for node in ring.nodes if node is not victim]
        subscribers = [
            self._start(f"subscriber {number + 1} of {topic}", "subscribe", topic, 0, ring.addresses()[:3])
            for topic in TOPICS
            for number in range(2)
        ]
        asking = self._start("lookups", "ask", str(self._run / "answers.msgpack"), LOOKUP_RATE, others[:4])
        display.phase = "6 subscribers register; 3 publishers find them through the ring"
        display.say(display.phase)
        self._wait(lambda: all(worker.ready for worker in (*subscribers, asking)), READY_S, display)
        publishers = [
            self._start(f"publisher of {topic}", "publish", topic, self._seconds, ring.addresses()[-3:])
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
        self._kill(ring, victim, display, total - sent(), total, topics[victim.address])
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

    def _kill(
        self, ring: LocalRing, victim: Node, display: Display, unsent: int, total: int, topics: list[str]
    ) -> None:
        ring.kill(victim)
        self._killed_at = time.monotonic()
        self._kill_us = time.time_ns() // 1000
        self._after = [node.identifier for node in ring.nodes]
        for seat in display.seats:
            seat.killed = seat.killed or seat.address == victim.address
        display.phase = f"kill -9 of {victim.address}, which owned {', '.join(topics)}"
        display.say(f"{display.phase}; {unsent:,} of {total:,} rows unsent")

    def _end(self, display: Display) -> None:
        for worker in self._workers:
            if worker.part != "publish":
                worker.end()
        self._wait(lambda: all(worker.done for worker in self._workers), END_S, display)
        for worker in self._workers:
            worker.process.wait(END_S)

    # Processes -----------------------------------------------------------------------------------------------------

    def _start(self, label: str, part: str, what: str, number: float, via: list[str]) -> Worker:
        worker = Worker(label, part, what, number, self._traces, via)
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

    def _save_run(self) -> None:
        subscribers = {
            str(worker.heard["id"]): SubscriberInfo(topics=[worker.what], from_start=True)
            for worker in self._workers
            if worker.part == "subscribe"
        }
        RunInfo(
            run=self._run.name,
            source="live",
            cluster="ringcast",
            ring_size=NODES,
            successors=Settings().successors,
            bits=64,
            commit=checked_out(),
            started_us=self._started_us,
            kill_us=self._kill_us,
            subscribers=subscribers,
        ).save(self._run)

    def _report(self, summary: Summary, verdict: Verdict) -> bool:
        elapsed_s = time.monotonic() - self._started
        summary.elapsed_s["demo"] = round(elapsed_s, 1)
        summary.demo = msgspec.to_builtins(verdict)
        write_summary(summary, self._run / "analysis")
        print_summary(summary, self._run / "analysis")
        self._console.print(
            f"{verdict.lookups_after_kill:,} lookups after the kill checked against the survivors' identifiers: "
            f"{verdict.wrong_after_kill} wrong or failed.",
            highlight=False,
        )
        for failure in verdict.failures:
            self._console.print(f"not kept: {failure}", style="bold red", highlight=False, markup=False)
        kept = "every promise kept" if not verdict.failures else "failed"
        self._console.print(f"demo: {kept}, in {elapsed_s:.1f} s", style="bold", highlight=False)
        return not verdict.failures
