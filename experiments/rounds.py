"""`python -m experiments rounds`: rounds of joins, kills, stops and leaves, told as they go, and their totals."""

from __future__ import annotations

import json
import sys
import time

from chord.amounts import counted
from experiments.report.terminal import progress_bar
from experiments.rings.outcome import Options
from experiments.rings.side_by_side import SideBySide
from experiments.rings.tally import Tally, as_text

TOLD_EVERY_S = 15.0
"""Between two lines of progress where there is no terminal, at least."""


def rounds(options: Options, jobs: int, as_json: bool) -> bool:
    """Play the rounds and print the totals; whether no ring broke and no record was lost."""
    began_at = told_at = time.monotonic()
    tally = Tally()
    if not sys.stderr.isatty():
        at_once = min(jobs, options.rounds)
        beside = f", {at_once} side by side" if at_once > 1 else ""
        _say(f"{counted(options.rounds, 'round')} of seed {options.seed}{beside}")
    with progress_bar() as progress, SideBySide(options, jobs) as outcomes:
        progress("rounds", 0, options.rounds)
        for outcome in outcomes:
            tally.outcomes.append(outcome)
            done = len(tally.outcomes)
            if outcome.bad or outcome.wrong:
                _say(outcome.story())
            progress(f"{len(tally.bad)} bad rounds", done, options.rounds)
            if not sys.stderr.isatty() and time.monotonic() - told_at >= TOLD_EVERY_S:
                told_at = time.monotonic()
                _say(f"{done} of {options.rounds} rounds, {len(tally.bad)} bad")
    totals = tally.totals(options, time.monotonic() - began_at)
    print(json.dumps(totals, indent=2) if as_json else as_text(totals))
    return not tally.bad


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
