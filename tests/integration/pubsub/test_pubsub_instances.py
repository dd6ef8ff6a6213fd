"""`ringcast pub` and `sub` with --instances, --autokill and --plot, as a person runs them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections import Counter

import pytest

from chord.client import RingClient
from tests.descendants import alive, descendants
from tests.waiting import eventually

COMMAND = [sys.executable, "-m", "broker.cli"]
WAIT_S = 60
PNG = b"\x89PNG\r\n"


def subscribed(process, count):
    """Wait until so many instances are."""
    said = [process.stderr.readline() for _ in range(count)]
    assert all(b"] subscribed to " in line for line in said), said


def entries(via, topic):
    """How many publishers and subscribers the ring knows of a topic."""
    with RingClient(via) as ring:
        return len(ring.get(topic))


def test_each_instance_is_a_client_of_its_own(start, ringcast, topic, tmp_path):
    """Two subscribers get all that two publishers publish on two topics in turn; lines and files say whose they are."""
    other = topic + "-other"
    latencies, plot = tmp_path / "latency.csv", tmp_path / "latency.png"
    options = ["--instances", "2", "--count", "8", "--latencies", str(latencies), "--plot", str(plot)]
    subscriber = start("sub", topic, other, *options, first=None)
    subscribed(subscriber, 2)

    file = tmp_path / "lines"
    file.write_bytes(b"1\n2\n3\n4\n")
    rates = tmp_path / "rate.svg"
    done = ringcast("pub", topic, other, "--file", str(file), "--instances", "2", "--plot", str(rates))
    out, _ = subscriber.communicate(timeout=WAIT_S)

    assert (done.returncode, subscriber.returncode) == (0, 0)
    said = f"published 4 samples on {topic}, {other}\n"
    *told, last = done.stderr.decode().splitlines(keepends=True)
    assert (sorted(told), last) == ([f"[1] {said}", f"[2] {said}"], f"drawing {rates} ...\n")
    expected = {f"[{number}] {line}".encode(): 2 for number in (1, 2) for line in (1, 2, 3, 4)}
    assert Counter(out.splitlines()) == expected
    for number in (1, 2):
        with (tmp_path / f"latency-{number}.csv").open(newline="") as written:
            rows = list(csv.DictReader(written))
        assert set(rows[0]) == {"publisher", "topic", "total_time_seconds"}
        assert all(0 <= float(row["total_time_seconds"]) < WAIT_S for row in rows)
        flows = Counter((row["publisher"], row["topic"]) for row in rows)
        assert len({publisher for publisher, _ in flows}) == 2
        assert sorted((each, count) for (_, each), count in flows.items()) == [
            (topic, 2),
            (topic, 2),
            (other, 2),
            (other, 2),
        ]
    assert plot.read_bytes().startswith(PNG)
    assert b"<svg" in rates.read_bytes()


def test_json_has_a_field_for_the_instance(start, ringcast, topic):
    """In place of what would make the line no JSON. --count is that of each."""
    subscriber = start("sub", topic, "--instances", "2", "--json", "--count", "2", first=None)
    subscribed(subscriber, 2)

    ringcast("pub", topic, "--payload", "8", "--count", "2")
    out, _ = subscriber.communicate(timeout=WAIT_S)

    rows = [json.loads(line) for line in out.splitlines()]
    assert sorted((row["instance"], row["payload"]) for row in rows) == [
        (1, "1......."),
        (1, "2......."),
        (2, "1......."),
        (2, "2......."),
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_has_all_instances_leave_the_ring(start, ringcast, via, topic, tmp_path, number):
    """The plot is drawn, no process is left, and no stack trace is seen; the exit code is that of one client."""
    plot = tmp_path / "latency.png"
    subscriber = start("sub", topic, "--instances", "2", "--plot", str(plot), first=None)
    subscribed(subscriber, 2)
    ringcast("pub", topic, "--payload", "8", "--count", "1")
    assert sorted(subscriber.stdout.readline() for _ in range(2)) == [b"[1] 1.......\n", b"[2] 1.......\n"]
    below = descendants(subscriber.pid)
    assert len(below) == 2

    subscriber.send_signal(number)
    _, error = subscriber.communicate(timeout=WAIT_S)

    assert (subscriber.returncode, error) == (128 + number, f"drawing {plot} ...\n".encode())
    assert plot.read_bytes().startswith(PNG)
    assert not any(map(alive, below))
    assert entries(via, topic) == 0


def test_ctrl_c_in_a_terminal_reaches_all_and_ends_them_once(via, topic):
    """The kernel sends it to every process of the group; the clients leave the ring all the same."""
    with subprocess.Popen(
        [*COMMAND, "sub", topic, "--instances", "2", "--via", via[0]], stderr=subprocess.PIPE, process_group=0
    ) as process:
        subscribed(process, 2)

        os.killpg(process.pid, signal.SIGINT)

        assert (process.wait(WAIT_S), process.stderr.read()) == (130, b"")
    assert entries(via, topic) == 0


def test_no_instance_outlives_the_command(start, topic):
    """Not even when that is killed itself."""
    subscriber = start("sub", topic, "--instances", "2", first=None)
    subscribed(subscriber, 2)
    below = descendants(subscriber.pid)

    subscriber.kill()

    eventually(lambda: not any(map(alive, below)), what="both are gone")


@pytest.mark.parametrize("instances", [1, 2])
def test_autokill_ends_a_client_as_kill_9_would(ringcast, via, topic, instances):
    """Exit code 137, one line, and nobody told: the ring has the entry until its lease runs out."""
    said = b"the process" if instances == 1 else b"2 of 2 clients"
    for seconds in (2, 8, 20):  # until it was quick enough to be registered
        done = ringcast("sub", topic, "--instances", str(instances), "--autokill", str(seconds))

        assert done.returncode == 137
        assert done.stderr.endswith(b"autokill: killed %s after %d s\n" % (said, seconds))
        if done.stderr.count(b"subscribed") == instances:
            assert entries(via, topic) >= instances
            return
    pytest.fail("it was never registered")


def test_what_was_measured_until_the_kill_is_drawn_and_kept(start, ringcast, topic, tmp_path):
    """By the process that waits for the client; the CSV file ends with a whole line."""
    latencies, plot = tmp_path / "latency.csv", tmp_path / "latency.png"
    subscriber = start("sub", topic, "--autokill", "12", "--plot", str(plot), "--latencies", str(latencies))
    ringcast("pub", topic, "--payload", "8", "--count", "3")
    assert subscriber.stdout.readline() == b"1.......\n"

    assert subscriber.wait(WAIT_S) == 137
    said = f"autokill: killed the process after 12 s\ndrawing {plot} ...\n"
    assert subscriber.stderr.read() == said.encode()
    assert plot.read_bytes().startswith(PNG)
    assert latencies.read_text().count("\n") >= 2
    assert latencies.read_text().endswith("\n")


def test_who_ends_in_time_is_not_killed(ringcast, topic):
    """Exit code 0."""
    done = ringcast("pub", topic, "--payload", "8", "--count", "2", "--autokill", "50")

    assert (done.returncode, done.stderr) == (0, f"published 2 samples on {topic}\n".encode())


def test_the_exit_code_is_that_of_who_failed(ringcast, topic):
    """Each says for itself why."""
    done = ringcast("sub", topic, "--instances", "2", "--wait", "0.2")

    assert done.returncode == 1
    lines = done.stderr.decode().splitlines()
    assert sorted(line for line in lines if "error" in line) == [
        f"[{number}] error: no sample came within 0.2 s" for number in (1, 2)
    ]


def test_a_client_that_is_killed_from_outside_is_missed(start, topic):
    """The others go on; in the end it shows in the exit code."""
    subscriber = start("sub", topic, "--instances", "2", first=None)
    subscribed(subscriber, 2)

    os.kill(descendants(subscriber.pid)[0], signal.SIGKILL)

    assert subscriber.stderr.readline() in {b"client 1 of 2 was killed\n", b"client 2 of 2 was killed\n"}
    assert subscriber.poll() is None


def test_a_reader_that_has_had_enough_ends_all_instances(start, ringcast, topic):
    """As `ringcast sub ... | head -1` does, also those that have nothing more to print."""
    subscriber = start("sub", topic, "--instances", "2", first=None)
    subscribed(subscriber, 2)
    subscriber.stdout.close()

    ringcast("pub", topic, "--payload", "8", "--count", "1")

    assert subscriber.wait(WAIT_S) == 141
    assert b"Traceback" not in subscriber.stderr.read()


def test_instances_listen_on_ports_in_a_row(start, via, topic, unused_ports):
    """From --port on."""
    first = unused_ports(2)
    start("pub", topic, "--payload", "8", "--rate", "1", "--instances", "2", "--port", str(first), first=None)

    def registered() -> bool:
        with RingClient(via) as ring:
            values = [entry.value for entry in ring.get(topic)]
        return all(any(f"127.0.0.1:{port}".encode() in value for value in values) for port in (first, first + 1))

    assert eventually(registered)


def test_stdin_is_read_by_a_client_that_is_waited_for(start, ringcast, topic):
    """--autokill makes it a process of its own, whose standard input is that of the command."""
    subscriber = start("sub", topic, "--count", "1")

    done = ringcast("pub", topic, "--autokill", "50", stdin=b"x\n")

    assert done.returncode == 0
    assert subscriber.communicate(timeout=WAIT_S)[0] == b"x\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("pub", "t", "--instances", "2"), "2 instances cannot share stdin; give --file FILE or --payload BYTES"),
        (("pub", "t", "--payload", "8", "--file", "setup.cfg"), "give one of them"),
        (("pub", "t", "--payload", "0"), "--payload"),
        *(((kind, "t", f"--instances={n}"), "--instances") for kind in ("pub", "sub") for n in ("0", "-1", "257", "x")),
        *(((kind, "t", f"--autokill={s}"), "--autokill") for kind in ("pub", "sub") for s in ("0", "-1", "nan", "inf")),
        (("broker", "--zone", "z", "--autokill", "nan"), "--autokill"),
        (("sub", "t", "--plot", "x.csv"), "--plot x.csv is no figure: its name ends in .png, .svg, .pdf"),
        (("sub", "t", "--plot", "/nonexistent/x.png"), "cannot write /nonexistent/x.png: No such file or directory"),
        (("pub", "t", "--plot", "/nonexistent/x.png"), "cannot write /nonexistent/x.png: No such file or directory"),
        (("sub", "t", "--latencies", "/nonexistent/x.csv"), "cannot write /nonexistent/x.csv"),
        (("sub", "t", "--instances", "2", "--port", "65535"), "2 instances from --port 65535 on are beyond port 65535"),
        (("sub", "t", "--instances", "2", "--advertise", "localhost:5000"), "is one address, and not 2"),
        (("sub", "t", "a\tb", "--instances", "2"), "control character"),
        (("sub", "t", "--instances", "2", "--reliability", "perhaps"), "one of best_effort, at_least_once"),
    ],
)
def test_what_is_asked_wrongly_is_said_once(ringcast, arguments, text):
    """In one line, with exit code 2, before any client has begun."""
    done = ringcast(*arguments)

    assert done.returncode == 2
    assert done.stderr.decode().count(text) == 1
    assert b"Traceback" not in done.stderr


def test_a_missing_package_is_named(via, topic, tmp_path):
    """With what brings it, before anything is received that could then not be drawn."""
    without = "import sys; sys.modules['matplotlib'] = None; from broker.cli import main; main()"
    plot = tmp_path / "latency.png"
    done = subprocess.run(
        [sys.executable, "-c", without, "sub", topic, "--plot", str(plot), "--via", via[0]],
        stderr=subprocess.PIPE,
        timeout=WAIT_S,
        check=False,
    )

    assert done.returncode == 2
    assert b"--plot needs matplotlib, which is not installed: `pip install 'ringcast[analysis]'`" in done.stderr
