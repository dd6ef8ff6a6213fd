"""One ring size of a sweep: a ring of processes, and a client outside that looks random names up."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from broker.local_ring import LocalRing
from broker.processes import ProcessFailed
from chord.asking import Ring
from chord.errors import RingcastError
from chord.kernel import Kernel
from chord.settings import Settings
from chord.sockets import make_context
from chord.tracing import Tracing
from chord.zmq_driver import ZmqDriver
from experiments.rings.settle import FINGERS_S, wait_for_full_lists
from experiments.sweep.plan import describe
from experiments.traces.run import TRACES

WARM = 3
"""Lookups through each node that leave no trace: they connect the client to all of them."""

TELL_EVERY = 50


def sweep_ring(part: Path, size: int, lookups: int, told: Callable[[int], None]) -> None:
    """Start a ring of `size` nodes, ask it, and leave the lookups' traces in `part`; `told` hears how many are done."""
    info = describe(part, size)
    with LocalRing() as ring:
        ring.grow(size)
        wait_for_full_lists(ring)
        if size - 1 > Settings().successors:  # a smaller ring needs no fingers
            time.sleep(FINGERS_S)
        info.save(part)
        ask(ring.addresses(), lookups, part / TRACES, told)


def ask(addresses: list[str], lookups: int, traces: Path, told: Callable[[int], None]) -> None:
    """Random names one after the other, in turn through each node; no owner is cached.

    A lookup that fails is a row like any other. Raises ProcessFailed when there is no ring to begin with.
    """
    context = make_context()
    kernel = Kernel(Settings().cluster, "sweep", random.Random())
    tracing = Tracing(None, "sweep", "")

    def keep(row: Struct) -> None:
        tracing.append(row)

    driver = ZmqDriver(context, kernel, keep=keep)
    rings = [Ring(kernel, [address]) for address in addresses]

    def look_up(ring: Ring) -> RingcastError | None:
        outcome = driver.start(ring.locate(f"sweep/{kernel.rng.getrandbits(48):x}"))
        driver.run(lambda: outcome.done)
        return outcome.error

    try:
        for ring in rings * WARM:
            if (error := look_up(ring)) is not None:
                raise ProcessFailed(f"the ring of the sweep does not answer: {error}")
        tracing = Tracing(traces, "sweep", "the lookups do not")
        for number in range(lookups):
            look_up(rings[number % len(rings)])
            if (number + 1) % TELL_EVERY == 0:
                tracing.flush_if_due()
                told(number + 1)
    finally:
        driver.close()
        context.destroy(linger=0)
        tracing.close()
