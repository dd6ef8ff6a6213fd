"""A broker where kazoo, which is an extra, is not installed."""

from __future__ import annotations

import pytest

from broker import cli_up, zookeeper
from chord.errors import LocalProtocolError


def test_without_kazoo_it_is_said_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package is no matter of ZooKeeper's: the command is refused, with the remedy."""
    monkeypatch.setattr(zookeeper, "find_spec", lambda _name: None)

    with pytest.raises(LocalProtocolError, match=r"kazoo, which is not installed: `pip install 'ringcast\[brokers\]'`"):
        zookeeper.ZooKeeperAuthority(
            "127.0.0.1:1", "ringcast", "zone-1", "b1", "127.0.0.1:2", 6.0, lambda _term: None, lambda _text: None
        )


def test_without_kazoo_no_stack_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ringcast up` says so at once, not when the ring and ZooKeeper run and the first broker ends."""
    monkeypatch.setattr(zookeeper, "find_spec", lambda _name: None)
    monkeypatch.setattr(cli_up, "unwind_on_signals", lambda: None)
    monkeypatch.setattr(cli_up, "LocalStack", lambda *_arguments: pytest.fail("the stack was started"))

    with pytest.raises(LocalProtocolError, match="kazoo"):
        cli_up.up()
