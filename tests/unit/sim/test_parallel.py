"""Work on several processes: what ends them, whichever of them ends first."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys

import pytest

from sim.parallel import results
from tests.unit.sim.commands import ROOT

ORPHANED = """
import os, signal
from sim.parallel import results

def work(number):
    print("worked", flush=True)
    os._exit(0)

if __name__ == "__main__":
    os.environ["PARENT"] = str(os.getpid())
    list(results(work, range(8), 2))
elif os.getppid() == int(os.environ["PARENT"]):  # a process of the pool, which has not begun yet
    os.kill(os.getppid(), signal.SIGKILL)
    while os.getppid() == int(os.environ["PARENT"]):
        pass
"""


def fail_first(number: int) -> None:
    if not number:
        raise OSError("no room")
    signal.pause()


def test_work_that_fails_ends_all_other_work():
    """Its error is raised at once, not after what waits and what is under way."""
    with pytest.raises(OSError, match="no room"):
        list(results(fail_first, range(8), 2))

    assert multiprocessing.active_children() == []


def test_a_process_whose_parent_ended_while_it_was_started_does_nothing(tmp_path):
    """No signal tells it then, and nobody would end it."""
    script = tmp_path / "orphaned.py"
    script.write_text(ORPHANED)

    with subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as parent:
        try:
            said, _ = parent.communicate(timeout=60)  # which ends when the last process does
        except subprocess.TimeoutExpired:
            os.killpg(parent.pid, signal.SIGKILL)
            raise

    assert (parent.returncode, said) == (-signal.SIGKILL, "")
