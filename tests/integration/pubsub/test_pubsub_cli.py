"""`ringcast pub`, `sub` and `topics` as a person runs them."""

from __future__ import annotations

import csv
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest

from chord.client import RingClient
from pubsub import writer
from pubsub.client import NotDelivered, Publisher, Subscriber
from tests.spools import read_rows
from tests.waiting import eventually

COMMAND = [sys.executable, "-m", "broker.cli"]
WAIT_S = 30


def test_lines_go_in_and_come_out(ringcast, start, topic, tmp_path):
    """Any bytes, empty lines too, a last line without its end; latencies and traces of each sample."""
    lines = [b"departed", b"", b"\xff\xfe\x00 \r", "caf\u00e9".encode(), b"last"]
    traces = tmp_path / "traces"
    latencies = tmp_path / "latency.csv"
    subscriber = start("sub", topic, "--count", "5", "--latency-file", str(latencies), "--trace", str(traces))

    done = ringcast("pub", topic, "--trace", str(traces), stdin=b"\n".join(lines))
    out, _ = subscriber.communicate(timeout=WAIT_S)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", f"published 5 samples on {topic}\n".encode())
    assert (subscriber.returncode, out) == (0, b"".join(line + b"\n" for line in lines))
    with latencies.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["topic"], row["sequence"]) for row in rows] == [(topic, str(number)) for number in range(1, 6)]
    assert all(0 <= int(row["latency_us"]) < WAIT_S * 1e6 for row in rows)
    traced = [row for path in traces.glob("*.trace") for row in read_rows(path)]
    publisher = rows[0]["publisher"]
    assert [[*row[1:4], row[5]] for row in traced if row[0] == "delivery"] == [
        [topic, "direct", publisher, number] for number in range(1, 6)
    ]
    assert sum(row[4] - row[3] + 1 for row in traced if row[0] == "publication") == 5
    assert any(row[0] == "lookup" for row in traced)


def test_json_tells_all_of_a_sample(ringcast, start, topic):
    """Text as text, anything else as base64."""
    subscriber = start("sub", topic, "--count", "2", "--json")

    ringcast("pub", topic, stdin=b"text\n\xff\n")
    out, _ = subscriber.communicate(timeout=WAIT_S)

    text, binary = (json.loads(line) for line in out.splitlines())
    assert (text["topic"], text["sequence"], text["payload"]) == (topic, 1, "text")
    assert (binary["sequence"], binary["payload_base64"]) == (2, "/w==")


def test_a_file_starts_over_until_the_count_is_reached(ringcast, start, topic, tmp_path):
    """And no faster than the rate."""
    file = tmp_path / "lines"
    file.write_bytes(b"a\nb\n")
    subscriber = start("sub", topic, "--count", "5")

    started_at = time.monotonic()
    done = ringcast("pub", topic, "--file", str(file), "--count", "5", "--rate", "20", "--wait-subscribers", "1")
    took_s = time.monotonic() - started_at
    out, _ = subscriber.communicate(timeout=WAIT_S)

    assert done.returncode == 0
    assert out == b"a\nb\na\nb\na\n"
    assert took_s > 4 / 20


def test_a_late_subscriber_gets_the_history(start, topic):
    """While the publisher waits for more lines."""
    early = start("sub", topic, "--count", "3")
    publisher = start("pub", topic, "--history", "2", stdin=subprocess.PIPE, first=None)
    publisher.stdin.write(b"1\n2\n3\n")
    publisher.stdin.flush()
    out, _ = early.communicate(timeout=WAIT_S)
    assert out == b"1\n2\n3\n"

    late = start("sub", topic, "--history", "2", "--count", "3")
    assert late.stdout.readline() + late.stdout.readline() == b"2\n3\n"
    publisher.stdin.write(b"4\n")
    publisher.stdin.close()
    assert late.stdout.readline() == b"4\n"
    assert publisher.wait(WAIT_S) == 0


def test_a_mismatch_is_said_on_both_sides(start, topic):
    """On stderr, with the reason."""
    publisher = start("pub", topic, "--reliability", "best_effort", stdin=subprocess.PIPE, first=None)
    publisher.stdin.write(b"1\n")
    publisher.stdin.flush()
    subscriber = start("sub", topic, first=None)

    expected = "reliability: offered best_effort, requested at_least_once"
    lines = sorted(subscriber.stderr.readline().decode() for _ in range(2))
    assert lines[0].startswith("no match with publisher ")
    assert expected in lines[0]
    assert lines[1] == f"subscribed to {topic}\n"
    assert expected in publisher.stderr.readline().decode()


def test_topics_are_listed(ringcast, topic):
    """Those that had a publisher a moment ago."""
    ringcast("pub", topic, stdin=b"x\n")

    assert topic in ringcast("topics").stdout.decode().splitlines()
    assert topic in json.loads(ringcast("topics", "--json").stdout)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_either_side_at_once(start, topic, number):
    """Within two seconds, with the exit code that shells know, and without a stack trace."""
    subscriber = start("sub", topic)
    publisher = start("pub", topic, stdin=subprocess.PIPE, first=None)
    publisher.stdin.write(b"x\n")
    publisher.stdin.flush()
    assert subscriber.stdout.readline() == b"x\n"

    for process in (subscriber, publisher):
        started_at = time.monotonic()
        process.send_signal(number)
        _, error = process.communicate(timeout=WAIT_S)
        assert time.monotonic() - started_at < 2.0
        assert process.returncode == 128 + number
        assert b"Traceback" not in error


@pytest.mark.parametrize("command", ["pub", "sub"])
@pytest.mark.parametrize("module", ["msgspec", "zmq", "typer", "pubsub.io_thread", "broker.cli_app"])
def test_ctrl_c_ends_the_imports_too(via, topic, command, module):
    """Right after this module was imported: exit code 130 and no stack trace."""
    imports = [sys.executable, "-X", "importtime", "-m", "broker.cli"]
    with subprocess.Popen(
        [*imports, command, topic, "--via", via[0]], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert any(line.split("|")[-1].strip() == module for line in process.stderr)

        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=WAIT_S)

        assert process.returncode == 130
        assert "Traceback" not in error


@pytest.mark.parametrize("command", ["pub", "sub"])
def test_ctrl_c_again_and_again_is_as_quiet(via, topic, command):
    """While the entries come off the ring, and while the interpreter ends."""
    with subprocess.Popen(
        [*COMMAND, command, topic, "--via", via[0]], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        with RingClient(via) as ring:
            eventually(lambda: ring.get(topic), what="it is registered")

        def gone():
            process.send_signal(signal.SIGINT)
            return process.poll() is not None

        eventually(gone, what="it ends")

        assert process.returncode == 130
        assert "Traceback" not in process.stderr.read()


def test_a_reader_that_has_had_enough_ends_the_subscriber(start, topic):
    """As `ringcast sub ... | head -1` does."""
    subscriber = start("sub", topic)
    publisher = start("pub", topic, "--rate", "200", stdin=subprocess.PIPE, first=None)
    publisher.stdin.write(b"x\n" * 2_000)
    publisher.stdin.flush()
    assert subscriber.stdout.readline() == b"x\n"

    subscriber.stdout.close()

    assert subscriber.wait(WAIT_S) == 141
    assert b"Traceback" not in subscriber.stderr.read()


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "text"),
    [
        (("pub", "a\tb"), b"x\n", 2, "control character"),
        (("pub", "t", "--durability", "persistent"), b"x\n", 2, "persistent"),
        (("pub", "t", "--history", "3", "--durability", "volatile"), b"x\n", 2, "keeps no history"),
        (("pub", "t", "--file", os.devnull, "--count", "3"), b"", 2, "no line to publish"),
        (("pub", "t"), b"x" * (512 * 1024 + 1), 1, "line 1 of stdin: a payload of 524289 bytes"),
        (("pub", "t", "--wait-subscribers", "1", "--timeout", "0.2"), b"x\n", 1, "0 of 1 readers of 't' connected"),
        (("pub", "t", "--via", "127.0.0.1:1", "--patience", "0.2"), b"x\n", 1, "not registered on the ring"),
        (("pub", "t", "--via", "nonsense"), b"x\n", 2, "is not HOST:PORT"),
        (("pub", "t", "--file", "/nonexistent"), b"", 2, "/nonexistent"),
        (("sub", "t", "--wait", "0.2"), b"", 1, "no sample came within 0.2 s"),
        *((("pub", "t", f"--rate={rate}"), b"x\n", 2, "--rate") for rate in ("1e-12", "inf", "nan", "-1", "1e308")),
        *((("pub", "t", f"--{option}=-1"), b"x\n", 2, f"--{option}") for option in ("count", "history", "timeout")),
        (("pub", "t", "--count", "9" * 30), b"x\n", 2, "--count"),
        (("sub", "t", "--count", "9" * 30), b"", 2, "--count"),
        (("pub", "t", "--history", "9" * 30), b"x\n", 2, "a history has 0 to"),
        *(((kind, "t", f"--patience={s}"), b"x\n", 2, "--patience") for kind in ("pub", "sub") for s in ("nan", "inf")),
        (("pub", "t", "--timeout", "nan"), b"x\n", 2, "--timeout"),
        (("sub", "t", "--wait", "nan"), b"", 2, "--wait"),
        (("sub", "t", "--latency-file", "/nonexistent/x.csv"), b"", 2, "cannot write /nonexistent/x.csv"),
        (("sub", "t", "--latency-file", "/dev/full", "--wait", "0.2"), b"", 1, "'/dev/full'"),
        (("pub", "t", "--trace", "/dev/null"), b"x\n", 2, "/dev/null"),
        (("sub", "t", "--reliability", "perhaps"), b"", 2, "one of best_effort, at_least_once"),
        (("sub",), b"", 2, "TOPIC"),
        (("topics", "--via", "127.0.0.1:1", "--patience", "0.2"), b"", 1, "no reply from 127.0.0.1:1"),
    ],
)
def test_what_goes_wrong_is_said_in_one_line(ringcast, arguments, stdin, code, text):
    """With exit code 2 for what was asked wrongly, 1 for what did not work."""
    done = ringcast(*arguments, stdin=stdin)

    assert done.returncode == code
    assert text in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_delivery_that_takes_too_long_is_an_error(start, ringcast, topic):
    """The subscriber is stopped: the publisher says who lacks what."""
    subscriber = start("sub", topic)
    subscriber.send_signal(signal.SIGSTOP)

    done = ringcast("pub", topic, "--timeout", "0.5", stdin=b"x\n")

    assert done.returncode == 1
    assert "not delivered within 0.5 s: of the 1 samples" in done.stderr.decode()
    subscriber.send_signal(signal.SIGCONT)


def test_a_subscriber_that_is_stopped_for_long_learns_what_it_lost(start, via, topic, monkeypatch):
    """And its publisher says that it has given it up: as a warning, and when it flushes."""
    monkeypatch.setattr(writer, "SILENT_FOR_S", 1.5)
    warnings = []
    subscriber = start("sub", topic)
    with Publisher(via=via, on_warning=warnings.append) as publisher:
        publisher.publish(topic, b"first")
        publisher.flush(WAIT_S)
        assert subscriber.stdout.readline() == b"first\n"
        subscriber.send_signal(signal.SIGSTOP)
        for _ in range(20):
            publisher.publish(topic, bytes(262_144))

        with pytest.raises(NotDelivered, match="from sample 2 on nothing is kept for it"):
            publisher.flush(WAIT_S)
        publisher.flush(WAIT_S)
        assert len(warnings) == 1
        assert warnings[0].startswith(f"topic {topic!r}: subscriber ")

        subscriber.send_signal(signal.SIGCONT)
        publisher.wait_for_readers(topic, 1, WAIT_S)
        publisher.publish(topic, b"last")
        had = 0
        while subscriber.stdout.readline() != b"last\n":
            had += 1
        assert had < 20
        subscriber.send_signal(signal.SIGINT)
        assert subscriber.wait(WAIT_S) == 130
        assert subscriber.stderr.read().decode() == f"lost {20 - had} samples\n"


def test_a_publisher_that_gives_a_subscriber_up_says_so_and_fails(start, via, topic):
    """One warning while it runs, one error at its end."""
    subscriber = start("sub", topic)
    impatient = "from pubsub import writer; writer.SILENT_FOR_S = 1.5; from broker.cli import main; main()"
    publisher = subprocess.Popen(
        [sys.executable, "-c", impatient, "pub", topic, "--wait-subscribers", "1", "--via", via[0]],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with publisher:
        publisher.stdin.write(b"x\n")
        publisher.stdin.flush()
        assert subscriber.stdout.readline() == b"x\n"
        subscriber.send_signal(signal.SIGSTOP)
        publisher.stdin.write(b"y\n")
        publisher.stdin.close()

        lines = publisher.stderr.read().decode().splitlines()

        assert (publisher.wait(WAIT_S), [line.partition(": ")[0] for line in lines]) == (1, ["warning", "error"]), lines
        assert all(re.search(r"said nothing for 1\.5 s; from sample [12] on nothing is kept", line) for line in lines)


def test_a_subscriber_that_was_there_first_and_connects_too_late_learns_what_it_lost(start, via, topic, monkeypatch):
    """It was stopped when the publisher came, and is awaited for a while only."""
    monkeypatch.setattr(writer, "EXPECTED_FOR_S", 0.2)
    subscriber = start("sub", topic)
    subscriber.send_signal(signal.SIGSTOP)
    with Publisher(via=via) as publisher:
        for _ in range(3):
            publisher.publish(topic, b"early")
        with pytest.raises(NotDelivered, match=r"did not connect within 0\.2 s; from sample 1 on nothing is kept"):
            publisher.flush(WAIT_S)

        subscriber.send_signal(signal.SIGCONT)
        publisher.wait_for_readers(topic, 1, WAIT_S)
        publisher.publish(topic, b"late")
        assert subscriber.stdout.readline() == b"late\n"
        subscriber.send_signal(signal.SIGTERM)
        assert subscriber.wait(WAIT_S) == 128 + signal.SIGTERM
        assert subscriber.stderr.read() == b"lost 3 samples\n"


@pytest.mark.parametrize("command", ["pub", "sub"])
def test_as_many_descriptors_are_open_to_a_client_as_the_system_allows(via, topic, command):
    """It needs two for each that it is connected to, and half of all shells allow 1,024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    process = subprocess.Popen(
        ["sh", "-c", 'ulimit -S -n 256; exec "$@"', "sh", *COMMAND, command, topic, "--via", via[0]],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with process:
        with RingClient(via) as ring:
            eventually(lambda: ring.get(topic), what="it is registered")
        limits = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        process.send_signal(signal.SIGTERM)

    assert limits == (most, most)


def test_two_subscribers_do_not_write_to_one_latency_file(start, ringcast, topic, tmp_path):
    """The second is told, and the file of the first is as it was."""
    latencies = tmp_path / "latency.csv"
    first = start("sub", topic, "--count", "1", "--latency-file", str(latencies))

    second = ringcast("sub", topic, "--latency-file", str(latencies))
    ringcast("pub", topic, stdin=b"x\n")

    assert second.returncode == 2
    assert second.stderr.decode() == f"error: cannot write {latencies}: another process writes to it\n"
    assert first.wait(WAIT_S) == 0
    with latencies.open(newline="") as file:
        assert [(row["topic"], row["sequence"]) for row in csv.DictReader(file)] == [(topic, "1")]


def test_a_latency_file_of_before_is_replaced(start, ringcast, topic, tmp_path):
    """Whatever was in it, and however much."""
    latencies = tmp_path / "latency.csv"
    latencies.write_text("old\n" * 1_000)
    subscriber = start("sub", topic, "--count", "1", "--latency-file", str(latencies))

    ringcast("pub", topic, stdin=b"x\n")

    assert subscriber.wait(WAIT_S) == 0
    with latencies.open(newline="") as file:
        assert [row["sequence"] for row in csv.DictReader(file)] == ["1"]


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdout"])
def test_latencies_may_go_where_no_file_is(start, ringcast, topic, path):
    """For two subscribers at once, here to a pipe or to nowhere."""
    subscribers = [start("sub", topic, "--count", "1", "--latency-file", path) for _ in range(2)]

    ringcast("pub", topic, stdin=b"x\n")

    for subscriber in subscribers:
        out, _ = subscriber.communicate(timeout=WAIT_S)
        assert subscriber.returncode == 0
        assert b"x\n" in out
        assert (b"publisher,topic,sequence,latency_us\n" in out) == (path == "/dev/stdout")


def test_a_ring_on_which_nobody_publishes_has_no_topics_and_says_so(ringcast, start_ring):
    """On standard error: nothing is a list of topics as well."""
    ((_, address),) = start_ring(1)

    plain = ringcast("topics", "--via", address)
    as_json = ringcast("topics", "--via", address, "--json")

    said = b"no topic has a publisher; `ringcast pub TOPIC` is one\n"
    assert (plain.returncode, plain.stdout, plain.stderr) == (0, b"", said)
    assert (as_json.returncode, as_json.stdout, as_json.stderr) == (0, b"[]\n", b"")


@pytest.mark.parametrize("command", ["pub", "sub", "topics"])
def test_help_shows_examples(ringcast, command):
    """Which a reader may copy."""
    out = ringcast(command, "--help").stdout.decode()

    assert f"ringcast {command}" in out or "ringcast pub" in out
    assert "Example" in out


@pytest.mark.parametrize("limit", [0, 200], ids=["no byte", "200 bytes"])
def test_a_full_disk_ends_the_traces_and_nothing_else(via, start, topic, tmp_path, limit):
    """Samples flow on, and one line on stderr says what happened."""
    subscriber = start("sub", topic, "--count", "3000")
    publisher = subprocess.run(
        [*COMMAND, "pub", topic, "--rate", "2000", "--trace", str(tmp_path / "traces"), "--via", via[0]],
        input=b"x\n" * 3_000,
        capture_output=True,
        timeout=WAIT_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        check=False,
    )
    out, _ = subscriber.communicate(timeout=WAIT_S)

    lines = publisher.stderr.decode().splitlines()
    assert publisher.returncode == 0, lines
    assert out == b"x\n" * 3_000
    assert [line for line in lines if line.startswith("warning: the traces of publisher-")] == lines[:1]
    assert lines[0].endswith("File too large; samples go on")
    assert lines[1:] == [f"published 3000 samples on {topic}"]


def test_a_trace_directory_that_goes_away_ends_the_traces_and_nothing_else(via, topic, tmp_path, capfd):
    """At the latest when the last file is to be given its name."""
    traces = tmp_path / "traces"
    with Subscriber([topic], via=via, trace=traces) as subscriber, Publisher(via=via) as publisher:
        shutil.rmtree(traces)
        publisher.publish(topic, b"x")
        assert subscriber.receive(WAIT_S).payload == b"x"

    assert capfd.readouterr().err.count("warning: the traces of subscriber-") == 1
