"""Waiting for a condition, and for samples, with a deadline."""

from __future__ import annotations

import time

DEADLINE_S = 20.0


def eventually(condition, what, within_s=DEADLINE_S):
    """Wait until `condition()` is true; fails with `what` at the deadline."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s} s: {what}"
        time.sleep(0.005)


def take(subscriber, count):
    """The next `count` samples."""
    samples = []
    for _ in range(count):
        sample = subscriber.receive(DEADLINE_S)
        assert sample is not None, f"only {len(samples)} of {count} samples came"
        samples.append(sample)
    return samples


def sequences(samples):
    """Their sequences."""
    return [sample.sequence for sample in samples]
