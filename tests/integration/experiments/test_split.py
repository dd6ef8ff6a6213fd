"""A ring cut in two by a real network for a while, through the command; the campaign cuts it for a minute."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from tests.descendants import alive, descendants
from tests.waiting import eventually

DEADLINE_S = 150.0


def split(*arguments: str, **keywords) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "experiments", "split", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **keywords,
    )


def test_a_ring_on_two_hosts_outlives_a_pulled_cable():
    """Both halves take writes for ten seconds; then they are one ring, and every record is found through every node.

    Without root the command says in one line that it needs it.
    """
    with split("--nodes", "6", "--cut", "10", "--json") as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    if os.geteuid() != 0:
        assert (process.returncode, stdout) == (2, "")
        assert "which only root makes" in stderr
        return
    assert process.returncode == 0, stderr
    report = json.loads(stdout)
    assert (report["lost"], report["wrong"]) == (0, {})
    assert report["two_rings_s"] < 10 and report["one_ring_s"] is not None
    assert min(report["acknowledged"].values()) > 0 and report["changed_by_both"] > 0


def test_a_split_without_ip_is_refused(tmp_path):
    """Exit code 2 and one line that names the package."""
    with split(env={**os.environ, "PATH": str(tmp_path)}) as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, stdout) == (2, "")
    assert "install iproute2" in stderr


def test_an_interrupted_split_leaves_nothing_behind(tmp_path):
    """Processes and files are gone after Ctrl-C, and with the last process its nameless namespaces."""
    with split(env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        try:
            eventually(lambda: len(descendants(process.pid)) >= 5 or process.poll() is not None, DEADLINE_S, "a ring")
            below = descendants(process.pid)

            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30.0)
        finally:
            process.kill()

    assert process.returncode == (130 if os.geteuid() == 0 else 2)
    eventually(lambda: not any(map(alive, below)), 5.0, "the end of every process")
    assert list(tmp_path.iterdir()) == []
