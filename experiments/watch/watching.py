"""The course of `analyse --watch`: the tail and the stream side by side, until it is idle or interrupted."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chord.errors import LocalProtocolError
from experiments.folders import once
from experiments.spark.session import Session
from experiments.watch import stream
from experiments.watch.counting import Counting
from experiments.watch.growing import found_so_far
from experiments.watch.landing import Landing
from experiments.watch.place import CHECKPOINT, WATCH, Settings, held, keep
from experiments.watch.shown import Display, State
from experiments.watch.tailing import Tail
from experiments.watch.windows import Windows

LOOK_S = 0.2
WAITING = "waiting for it to begin"
LEAST_WINDOW_S = 0.001
LONGEST_S = 1e9
"""Some 31 years: what is longer is no time that anybody waits for, and its microseconds may not fit Spark's."""

TOLD_WITHIN_S = 5.0
"""So long may Spark take to tell what its last batch left out."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a watch is asked for; times in seconds. `until_idle_s` is null if it is to go on until interrupted."""

    master: str = "local[2]"
    conf: Mapping[str, str] = field(default_factory=dict)
    window_s: float = 10.0
    late_s: float = 600.0
    until_idle_s: float | None = None
    files_per_batch: int = 64

    def check(self) -> None:
        """Raise LocalProtocolError for times that make no sense."""
        if not LEAST_WINDOW_S <= self.window_s <= LONGEST_S:  # which is false of nan, too
            raise LocalProtocolError(f"--window takes {LEAST_WINDOW_S} s to {LONGEST_S:,.0f} s, not {self.window_s:g}")
        if not 0 <= self.late_s <= LONGEST_S:
            raise LocalProtocolError(f"--late takes 0 s to {LONGEST_S:,.0f} s, not {self.late_s:g}")
        if self.until_idle_s is not None and not 0 < self.until_idle_s <= LONGEST_S:
            raise LocalProtocolError(
                f"--until-idle takes more than 0 s, up to {LONGEST_S:,.0f} s, not {self.until_idle_s:g}; "
                "leave it out to go on until interrupted"
            )


def watch(runs: Sequence[Path], out: Path, options: Options, display: Display) -> State:
    """Count what runs grow by, into `out/watch`, until they are idle for as long as asked; how far that came.

    `doing` says what it still waited for if the run that `out` lies in never came.

    Raises BadRun and LocalProtocolError for what cannot be watched, Damaged, NoJava and
    SparkFailed.
    """
    options.check()
    once(runs)
    found_so_far(runs)
    if not _begun(runs, out, options.until_idle_s, display):
        return State(doing=WAITING)
    place = out / WATCH
    window_us = round(options.window_s * 1e6)
    with held(place) as lock:
        keep(place, Settings(window_us=window_us))
        landing = Landing(place, out)
        counting = Counting(place, Windows(place, window_us), display)
        tail = Tail(runs, landing)
        with Session(options.master, conf={**stream.CONF, **options.conf}, inherited=(lock,)) as session:
            tail.start()
            try:
                return _watched(session, landing, tail, place, window_us, options, counting, display)
            finally:
                tail.stop()


def _begun(runs: Sequence[Path], out: Path, until_idle_s: float | None, display: Display) -> bool:
    """Wait for the run that `out` lies in, if it does: a run may refuse a folder that is not empty when it begins.

    Whether it came; False once it was waited for as long as asked.
    """
    began = time.monotonic()
    around = [run for run in runs if out.resolve().is_relative_to(run.resolve())]
    while not all(run.is_dir() and any(run.iterdir()) for run in around):
        if until_idle_s is not None and time.monotonic() - began >= until_idle_s:
            return False
        display.state(State(doing=WAITING))
        time.sleep(LOOK_S)
    return True


def _watched(
    session: Session,
    landing: Landing,
    tail: Tail,
    place: Path,
    window_us: int,
    options: Options,
    counting: Counting,
    display: Display,
) -> State:
    state = State(doing="starting Spark")
    display.state(state)
    spark = session.get()
    stream.listen(spark, counting.progress)
    query = stream.start(
        spark,
        landing.folder,
        place / CHECKPOINT,
        window_us,
        options.late_s,
        options.files_per_batch,
        counting.cells,
    )
    state.doing = ""
    quiet_s, busy_at = 0.0, time.monotonic()
    while options.until_idle_s is None or quiet_s < options.until_idle_s:
        tail.check()
        stream.check(query, place)
        _look(state, tail, counting)
        display.state(state)
        time.sleep(LOOK_S)
        if not stream.waits(query):
            busy_at = time.monotonic()
        quiet_s = time.monotonic() - max(busy_at, tail.grew_at, counting.counted_at)
    tail.stop()  # what has landed by now is still counted
    stream.finish(query, place)
    counting.wait_until_told(TOLD_WITHIN_S)
    stream.stop(query)
    _look(state, tail, counting)
    display.state(state)
    return state


def _look(state: State, tail: Tail, counting: Counting) -> None:
    state.parts, state.landed, state.damage, state.problems = tail.state()
    state.counted, left = counting.totals()
    state.late, state.twice = left.late, left.twice
