"""What a command draws in the end, it draws when its clients have ended, and says so."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from broker import cli_pub, cli_sub

PROGRAM = """
import os, signal, sys
from pathlib import Path
from broker.instances import divide

def at_end():
    me = os.getpid()
    print("left:", Path(f"/proc/{me}/task/{me}/children").read_text().split(), flush=True)

instance = divide(3, None, at_end)
print("ready", flush=True)
while True:
    signal.pause()
"""


def test_no_client_is_left_when_drawing_begins():
    """Upon a signal: they are waited for first."""
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["ready\n"] * 3

        process.send_signal(signal.SIGTERM)

        assert process.stdout.read() == "left: []\n"
        assert process.wait(60) == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("draw", "nothing"),
    [
        (lambda plot, files: cli_sub._draw(plot, ["T"], files), "no sample came"),
        (lambda plot, files: cli_pub._draw(plot, 1.0, files), "nothing was published"),
    ],
)
def test_it_is_said_that_drawing_begins(draw, nothing, capsys):
    """On stderr, before what takes seconds: importing what draws."""
    with tempfile.TemporaryFile() as file:
        draw(Path("ci.png"), [file])

    assert capsys.readouterr().err == f"drawing ci.png ...\n{nothing}, so ci.png was not drawn\n"
