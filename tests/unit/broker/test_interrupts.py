"""An interrupt is neither lost nor taken twice, wherever it strikes. Each case is a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGIN = """
import os, signal, sys, threading, weakref
from broker.interrupts import undisturbed, unwind_on_signals
from broker.processes import start
unwind_on_signals()
"""

UNDISTURBED = """
with undisturbed():
    signal.raise_signal(signal.{name})
    print("whole")
print("too far")
"""

IN_A_CALLBACK = """
class Thing: pass
thing = Thing()
weakref.finalize(thing, print, "finalized")
callback = weakref.ref(thing, lambda _: signal.raise_signal(signal.{name}))
del thing
threading.Event().wait(30)
print("too far")
"""

AROUND_A_FORK = """
os.register_at_fork(after_in_parent=lambda: signal.raise_signal(signal.{name}))
try:
    start(["this"])
    print("too far")
finally:
    print("raised")
"""

AGAIN_AND_AGAIN = """
try:
    signal.raise_signal(signal.{name})
finally:
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    print("clean")
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize(
    ("script", "said"),
    [(UNDISTURBED, "whole"), (IN_A_CALLBACK, "finalized"), (AROUND_A_FORK, "raised"), (AGAIN_AND_AGAIN, "clean")],
)
def test_interrupt_unwinds_once(script: str, said: str, name: str, code: int) -> None:
    """After a block that must be whole, out of a callback that swallows it, around a fork, and while it unwinds."""
    main = "try:\n" + "".join(f"    {line}\n" for line in (BEGIN + script.format(name=name)).splitlines())
    main += "except KeyboardInterrupt:\n    sys.exit(130)\n"

    done = subprocess.run([sys.executable, "-c", main], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout.split(), done.stderr) == (code, [said], "")
