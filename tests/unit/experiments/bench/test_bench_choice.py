"""Which benchmarks are run, and what is said before any of them is, when one cannot be."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from chord.errors import LocalProtocolError
from experiments.bench import MODULES, PACKAGES, select
from experiments.cli_app import app


def test_a_benchmark_that_lacks_a_package_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing, and which extra brings it; of several benchmarks all that is missing, once."""
    monkeypatch.setitem(sys.modules, "kademlia", None)
    monkeypatch.setitem(sys.modules, "opendht", None)
    monkeypatch.setitem(sys.modules, "kazoo", None)

    with pytest.raises(
        LocalProtocolError, match=r"bench dht-peers needs kademlia, opendht, which are not .*\[bench\]'`"
    ):
        select(["dht-peers"])
    with pytest.raises(LocalProtocolError, match=r"kademlia, kazoo, opendht, .* 'ringcast\[bench,brokers\]'`"):
        select(["dht-peers", "dht-peers-kill", "failover"])
    assert select(["lookup"]) == ["lookup"]


def test_what_a_benchmark_needs_is_said_of_benchmarks_that_there_are() -> None:
    """A name that was changed in one place only would have its packages looked for no more."""
    assert set(PACKAGES) <= set(MODULES)


def test_the_names_are_in_the_help() -> None:
    """Every one of them, unbroken."""
    told = CliRunner().invoke(app, ["bench", "--help"]).output

    assert set(MODULES) <= set(told.split())
