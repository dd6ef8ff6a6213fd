"""Some rounds in a process of their own, for a command that runs several rings side by side.

    python -m experiments.rings.rounds_job OPTIONS

OPTIONS are `Options` of experiments/rings/outcome.py as JSON; each round is a line of JSON on stdout, an `Outcome`.
"""

from __future__ import annotations

import sys

import msgspec

from broker.interrupts import unwind_on_signals
from experiments.rings.outcome import Options
from experiments.rings.rounds import LivingRing


def main() -> None:
    """Play the rounds."""
    unwind_on_signals()
    options = msgspec.json.decode(sys.argv[1], type=Options)
    ring = LivingRing(options)
    try:
        for number in range(options.first, options.first + options.rounds):
            outcome = ring.play(number)
            print(msgspec.json.encode(outcome).decode(), flush=True)
    finally:
        ring.close()


if __name__ == "__main__":
    main()
