"""What a command does with standard streams that are full, closed, or of another encoding."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest

from broker.local_ring import LocalRing
from chord.client import RingClient
from chord.process import SLOW_S
from tests.spools import read_rows

NAME = "stream/é"


@pytest.fixture(scope="module")
def via():
    with LocalRing() as ring:
        ring.grow(1)
        (address,) = ring.addresses()
        with RingClient([address]) as client:
            client.put(NAME, "cli", b"v", 600.0)
        yield address


def get(via: str, redirect: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`dht get` in a shell that redirects its streams."""
    command = f'exec "{sys.executable}" -m chord.cli get "$NAME" --via {via} {redirect}'
    variables = {**os.environ, "NAME": NAME, **environment}
    return subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True, timeout=30, env=variables)


def test_a_full_stdout_is_said_in_one_line(via):
    """Output that cannot be written fails with one line and exit code 1."""
    done = get(via, ">/dev/full")

    assert done.returncode == 1
    assert done.stderr == "error: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", [("get", NAME), ("ring",), ("ring", "--json")])
def test_a_reader_that_has_gone_ends_it_quietly(via, command, unbuffered):
    """As of `| head -1`: exit code 141, as of a shell's own commands, and nothing on standard error."""
    with subprocess.Popen(
        [sys.executable, "-m", "chord.cli", *command, "--via", via],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        process.stdout.close()
        stderr = process.stderr.read()

    assert (process.returncode, stderr) == (141, "")


def test_a_closed_stdout_is_no_error(via):
    """Whoever closes stdout wants no output."""
    done = get(via, ">&-")

    assert (done.returncode, done.stderr) == (0, "")


def test_characters_that_the_terminal_lacks_are_escaped(via):
    """A terminal without a character gets its escape, not a failure."""
    done = get(via, "", PYTHONIOENCODING="ascii", NAME="nothing/é")

    assert done.returncode == 1
    assert "nothing/\\xe9" in done.stderr
    assert "Traceback" not in done.stderr


def joined(via: str, trace: str, redirect: str) -> subprocess.CompletedProcess[str]:
    """`dht join` in a shell that redirects its streams."""
    command = f'exec "{sys.executable}" -m chord.cli join --bootstrap {via} --trace "$TRACE" {redirect}'
    variables = {**os.environ, "TRACE": trace}
    return subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True, timeout=60, env=variables)


def test_a_node_that_cannot_say_that_it_is_ready_leaves_the_ring(via, tmp_path):
    """It hands over what it has taken meanwhile, and says what is wrong."""
    done = joined(via, str(tmp_path), ">/dev/full")

    assert done.returncode == 1
    assert done.stderr == "error: [Errno 28] No space left on device\n"
    (spool,) = tmp_path.rglob("*.trace*")
    assert any("left" in row for row in read_rows(spool))


def test_a_node_that_cannot_complain_goes_on():
    """There is nobody at its --bootstrap for a while, which it cannot say."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        command = f'exec "{sys.executable}" -m chord.cli join --bootstrap 127.0.0.1:{nobody.getsockname()[1]}'
        nobody.settimeout(30.0)
        with subprocess.Popen(["sh", "-c", f"{command} 2>/dev/full"]) as process:
            nobody.accept()[0].close()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(2 * SLOW_S)  # it would have ended when it first had to complain
            process.send_signal(signal.SIGINT)
            assert process.wait(10.0) == 130
