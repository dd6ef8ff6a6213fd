"""Waiting for samples, with a deadline."""

from __future__ import annotations

DEADLINE_S = 20.0


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
