"""A ring on two hosts whose cable is pulled for a while: both halves take writes, and become one ring again."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

from msgspec import Struct

from broker.local_ring import LocalRing, Node
from broker.processes import ProcessFailed
from experiments.rings.lan import ADDRESSES, SIDES, Lan
from experiments.rings.observer import Observer, Views
from experiments.rings.settle import all_ideal
from experiments.rings.split_records import SplitRecords

FORMED_WITHIN_S = 60.0
ONE_RING_WITHIN_S = 30.0
FOUND_WITHIN_S = 60.0
ROUND_S = 0.5
POLL_S = 0.1
TURN_S = 0.005

Progress = Callable[[str], None]


class Report(Struct, kw_only=True):
    """What came of it. Times in seconds from the cut (`two_rings_s`) or from the mending; None: not in time."""

    left: int
    right: int
    cut_s: float
    two_rings_s: float | None = None
    one_ring_s: float | None = None
    found_s: float | None = None
    writes: dict[str, int] = {}
    acknowledged: dict[str, int] = {}
    records: int = 0
    changed_by_both: int = 0
    deleted: int = 0
    lost: int = 0
    wrong: dict[str, str] = {}

    @property
    def good(self) -> bool:
        """Whether there were two rings, there is one again, and no record is lost or another than it should be."""
        return self.two_rings_s is not None and self.one_ring_s is not None and not self.wrong


class SplitRun:
    """One run on a `lan`, with its processes. Use it in a `with` block."""

    def __init__(self, lan: Lan, nodes: int, cut_s: float, progress: Progress) -> None:
        self._lan = lan
        self._cluster = f"split-{os.getpid()}"
        self._progress = progress
        self._ring = LocalRing()
        self._counts = {"left": nodes - nodes // 2, "right": nodes // 2}
        self._nodes: dict[str, list[Node]] = {side: [] for side in SIDES}
        self._observers = {side: Observer(self._cluster) for side in SIDES}
        self._records = SplitRecords(self._nodes, self._observers, random.Random(nodes))
        self._report = Report(
            left=self._counts["left"],
            right=self._counts["right"],
            cut_s=cut_s,
            writes=self._records.writes,
            acknowledged=self._records.acknowledged,
        )

    def __enter__(self) -> SplitRun:
        return self

    def __exit__(self, *_: object) -> None:
        for observer in self._observers.values():
            observer.close()
        self._ring.close()

    def play(self) -> Report:
        """Raises ProcessFailed when the ring does not even form."""
        report = self._report
        self._form()
        self._progress("the cable is pulled")
        self._lan.cut()
        cut_at = time.monotonic()
        self._write_until(cut_at + report.cut_s, cut_at)
        self._progress("the cable is back")
        self._lan.mend()
        mended_at = time.monotonic()
        report.one_ring_s = self._until(lambda: self._is_one("left", self._all()), ONE_RING_WITHIN_S, mended_at)
        if report.one_ring_s is None:
            report.wrong = {address: str(view) for address, view in self._views("left", self._all()).items()}
            return report
        self._finish_writes()
        self._progress("one ring again; every record is read through every node")
        report.found_s = self._until(lambda: not self._records.wrong(), FOUND_WITHIN_S, mended_at)
        report.wrong = self._records.wrong() if report.found_s is None else {}
        self._count(report)
        return report

    # The ring ------------------------------------------------------------------------------------------------------

    def _form(self) -> None:
        bootstrap: list[str] = []
        for side in SIDES:
            options = ["--cluster", self._cluster, "--host", ADDRESSES[side]]
            with self._lan.inside(side):
                for _ in range(self._counts[side]):
                    self._ring.options = options
                    self._nodes[side].append(self._ring.launch(bootstrap))
                    if not bootstrap:
                        self._ring.wait_ready()
                        bootstrap = self._ring.addresses()
        self._ring.wait_ready()
        for side in SIDES:
            with self._lan.inside(side):  # the sockets of an observer belong to where it asks first
                self._views(side, self._nodes[side][:1])
        began_at = time.monotonic()
        if self._until(lambda: self._is_one("left", self._all()), FORMED_WITHIN_S, began_at) is None:
            raise ProcessFailed(f"a ring of {len(self._all())} did not form within {FORMED_WITHIN_S:.0f} s")
        self._records.begin()
        self._finish_writes()

    def _all(self) -> list[Node]:
        return self._nodes["left"] + self._nodes["right"]

    def _views(self, side: str, nodes: list[Node]) -> Views:
        return self._observers[side].views([node.address for node in nodes])

    def _is_one(self, side: str, nodes: list[Node]) -> bool:
        """Whether each of these says that the ring is just these."""
        self._ring.look()
        return all_ideal(self._views(side, nodes), [node.address for node in nodes])

    def _until(self, holds: Callable[[], bool], within_s: float, since: float) -> float | None:
        """Seconds since a moment until it holds; None when that is not so in time."""
        deadline = time.monotonic() + within_s
        while not holds():
            if time.monotonic() > deadline:
                return None
            self._turn(POLL_S)
        return round(time.monotonic() - since, 2)

    def _turn(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for observer in self._observers.values():
                observer.turn_until(time.monotonic() + TURN_S)

    # Writing -------------------------------------------------------------------------------------------------------

    def _write_until(self, moment: float, cut_at: float) -> None:
        """Have both halves write; notes when they are two rings."""
        while time.monotonic() < moment:
            for side in SIDES:
                self._records.write(side)
            self._turn(min(ROUND_S, max(0.0, moment - time.monotonic())))
            if self._report.two_rings_s is None and all(self._is_one(side, self._nodes[side]) for side in SIDES):
                self._report.two_rings_s = round(time.monotonic() - cut_at, 2)
                self._progress(f"two rings after {self._report.two_rings_s} s")

    def _finish_writes(self) -> None:
        while not self._records.settled:
            self._turn(POLL_S)

    def _count(self, report: Report) -> None:
        records = self._records.records.values()
        report.records = len(records)
        report.changed_by_both = sum(len(record.sides) == len(SIDES) for record in records)
        report.deleted = sum(bool(record.known) and record.winner is None for record in records)
        report.lost = sum(what.startswith("None") for what in report.wrong.values())


def split(nodes: int, cut_s: float, progress: Progress) -> Report:
    """Split a ring of 4 or more processes in two halves for so long. Raises LocalProtocolError where that cannot be."""
    with Lan() as lan, SplitRun(lan, nodes, cut_s, progress) as run:
        return run.play()
