"""The benchmarks of brokers measure real ones: every sample arrives, and one that does not is an error."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from broker.processes import ProcessFailed
from experiments.bench import clients
from experiments.bench.pubsub_pair import latency, throughput
from experiments.bench.pubsub_systems import Pair, Work, ours_brokered, ours_direct


def test_every_sample_through_a_broker_is_checked() -> None:
    """Flat out, and at a rate with the time of each."""
    system = ours_brokered(1)

    assert throughput(system, 2_000) > 0
    assert latency(system, 200.0, 0.5) > 0


def test_a_sample_that_is_missing_is_an_error() -> None:
    """Here the publisher publishes one less than its subscriber waits for, so the run reports no figure."""

    def one_less(stack: ExitStack, work: Work) -> Pair:
        return ours_direct(stack, work._replace(samples=work.samples - 1))

    with pytest.raises(ProcessFailed, match="sent 101 samples, got"):
        throughput(one_less, 101)


@pytest.mark.parametrize("topics_each", [1, 3])
def test_many_clients_share_processes_and_topics(topics_each: int) -> None:
    """Each subscriber gets what was published on its topics, which the measurement checks."""
    mean_ms, notes = clients.measure(24, topics_each, 5.0, 1.0)

    assert mean_ms > 0
    assert (notes["clients"], notes["topics"], notes["topics_each"]) == (24, 3, topics_each)
