"""`dht` as a person and a script meet it: what it prints, how it fails, and with which exit code."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.local_ring import LocalRing
from broker.processes import start
from tests.integration.chord.rings import dht, hash64, member_id, run
from tests.spools import read_rows
from tests.waiting import eventually

READY = re.compile(r"ready 127\.0\.0\.1:(\d+) id=([0-9a-f]{16}) members=(\d+)\n")
NOBODY = "127.0.0.1:1"
COMMANDS = ["join", "lookup", "ring", "put", "get", "delete"]
SCRIPTS = Path(sys.executable).parent


def one_line(done, code: int, said: str) -> None:
    """A failure: its exit code, one line on stderr that says what is the matter, nothing on stdout, no traceback."""
    assert "Traceback" not in done.err
    assert (done.code, done.out) == (code, ""), done.err
    assert re.fullmatch(rf"error: .*{said}.*\n", done.err), done.err


@pytest.fixture
def via(six) -> str:
    return six.addresses()[0]


@pytest.fixture(scope="module", autouse=True)
def hopeless(six, tmp_path_factory) -> Iterator[dict[str, tuple[subprocess.Popen[bytes], Path]]]:
    """Nodes that cannot join, started before the other tests of this module because they try for long."""
    folder = tmp_path_factory.mktemp("hopeless")
    attempts = {
        "nobody": ["--bootstrap", NOBODY],
        "other cluster": ["--bootstrap", six.addresses()[0], "--cluster", "other"],
    }
    started = {}
    for name, arguments in attempts.items():
        errors = folder / name
        with errors.open("wb") as err:
            started[name] = (start(["chord.cli", "join", *arguments], subprocess.DEVNULL, err.fileno()), errors)
    yield started
    for process, _ in started.values():
        process.kill()
        process.wait()


# What is printed ---------------------------------------------------------------------------------------------------


def test_the_first_line_of_a_node_says_who_it_is(six):
    """ready HOST:PORT id=<16 hex digits> members=<processes in the ring>."""
    for number, node in enumerate(six.nodes, 1):
        found = READY.fullmatch(node.output.read_text())
        assert found
        assert int(found[2], 16) == member_id(f"127.0.0.1:{found[1]}")
        assert 1 <= int(found[3]) <= 6
        assert number > 1 or found[3] == "1"


def test_a_lookup_in_json(six, via):
    """One object a name: name, key, owner, path, hops, timeouts, and two durations in us."""
    done = dht("lookup", "flights.JFK", "b", "--json", "--via", via)

    first, second = json.loads(done.out)
    assert done.code == 0
    assert list(first) == ["name", "key", "owner", "path", "hops", "timeouts", "duration_us", "owner_us"]
    assert (first["name"], first["key"]) == ("flights.JFK", "10fdf0cc2fbca71d")
    assert (second["name"], second["key"]) == ("b", f"{hash64(b'b'):016x}")
    assert set(first["owner"]) == {"id", "address"}
    assert first["owner"]["address"] in six.addresses()
    assert first["path"][0]["address"] == via
    assert first["hops"] == len(first["path"]) - 1
    assert first["timeouts"] == 0
    assert first["duration_us"] > 0 and first["owner_us"] > 0


def test_a_recursive_lookup_in_json_has_no_time_that_was_not_measured(via):
    """The owner itself answers, so there is no last step to it: null, and not 0 us."""
    (found,) = json.loads(dht("lookup", "flights.JFK", "--mode", "recursive", "--json", "--via", via).out)

    assert found["duration_us"] > 0
    assert found["owner_us"] is None


def test_a_lookup_for_people(via):
    """Owner, path, hops and time, four lines a name."""
    done = dht("lookup", "flights.JFK", "--via", via)

    lines = done.out.splitlines()
    assert lines[0] == "flights.JFK  key 10fdf0cc2fbca71d"
    assert re.fullmatch(r"  owner [0-9a-f]{16} at 127\.0\.0\.1:\d+", lines[1])
    assert re.fullmatch(r"  path  127\.0\.0\.1:\d+( -> 127\.0\.0\.1:\d+)*  \((1 hop|\d+ hops), 0 time-outs\)", lines[2])
    assert re.fullmatch(r"  took  \d+ us, and \d+ us to the owner", lines[3])


def test_a_ring_in_json(via):
    """Every member with its neighbours, in ring order from the node asked; and whether the views fit together."""
    seen = json.loads(dht("ring", "--json", "--via", via).out)

    assert seen["consistent"] is True
    assert [set(member) for member in seen["members"]] == [{"id", "address", "predecessor", "successors"}] * 6
    assert seen["members"][0]["address"] == via
    assert seen["members"][1]["predecessor"] == {key: seen["members"][0][key] for key in ("id", "address")}


def test_records_by_command(via):
    """put, get and delete say what they did, in words and in JSON; nothing there is exit code 1."""
    assert dht("put", "motd", "hello", "--lease", "60", via=via).out == "stored cli as version 1 on 3 processes\n"
    again = dht("put", "motd", "hi", "--lease", "60", "--json", via=via)
    assert json.loads(again.out) == {"name": "motd", "entry": "cli", "version": 2, "copies": 3}
    assert re.fullmatch(r"cli  version 2  lease \d+\.\d s  hi\n", dht("get", "motd", via=via).out)
    (entry,) = json.loads(dht("get", "motd", "--json", via=via).out)
    assert (entry["entry"], entry["version"], entry["value"]) == ("cli", 2, "hi")
    assert dht("delete", "motd", via=via).out == "deleted cli of motd\n"
    one_line(dht("get", "motd", via=via), 1, "nothing is stored under 'motd'")


def test_deleting_what_is_not_there_says_so(via):
    """It is no error, and nothing was deleted."""
    done = dht("delete", "nothere", "--entry", "e", via=via)

    assert (done.code, done.out) == (0, "nothing to delete: nothere has no entry e\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command):
    """Every command's help says what it does and shows it."""
    done = dht(command, "--help")

    assert done.code == 0
    assert re.search(rf"Examples?:\n +dht {command}", done.out)
    assert done.err == ""


def test_help_lists_the_commands():
    """`dht` alone and `dht --help` list every command and how a default ring is named."""
    for arguments in ([], ["--help"]):
        done = dht(*arguments)
        text = done.out + done.err
        assert all(re.search(rf"^  {command} ", text, re.MULTILINE) for command in COMMANDS)
        assert "RINGCAST_VIA" in text
    assert dht("--help").code == 0


@pytest.mark.parametrize(("script", "arguments"), [("dht", ["lookup"]), ("dht-lookup", [])])
def test_the_installed_commands_look_up(via, script, arguments):
    """`dht-lookup NAME` is `dht lookup NAME`."""
    done = subprocess.run(
        [SCRIPTS / script, *arguments, "flights.JFK", "--via", via],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0
    assert done.stdout.startswith("flights.JFK  key 10fdf0cc2fbca71d\n")


def test_the_installed_dht_join_joins(via):
    """`dht-join` is `dht join`; RINGCAST_BOOTSTRAP names whom to join."""
    process = subprocess.Popen([SCRIPTS / "dht-join"], stdout=subprocess.PIPE, env={"RINGCAST_BOOTSTRAP": via})
    try:
        assert process.stdout is not None
        assert READY.fullmatch(process.stdout.readline().decode())
    finally:
        process.terminate()
        assert process.wait(30) == 0
        process.stdout.close()


def test_several_nodes_in_ringcast_via(via):
    """RINGCAST_VIA holds addresses separated by spaces, dead ones among them; --via goes before it."""
    assert dht("lookup", "a", via=f"{NOBODY} {via}").code == 0
    assert dht("lookup", "a", "--via", via, via=NOBODY).code == 0
    one_line(dht("lookup", "a", "--patience", "0.2", via=NOBODY), 1, f"no reply from {NOBODY}")
    one_line(dht("lookup", "a", via=f"{NOBODY},{via}"), 2, "repeat the option for several")


def test_a_dead_node_before_a_live_one_is_passed_over(via):
    """The first --via does not answer: the second does, and the time-out is counted."""
    done = dht("lookup", "a", "--json", "--via", NOBODY, "--via", via)

    (walk,) = json.loads(done.out)
    assert done.code == 0
    assert walk["path"][0]["address"] == via
    assert walk["timeouts"] == 1


# How it fails ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["lookup", "a"], ["ring"], ["get", "a"], ["put", "a", "v", "--lease", "5"]])
def test_no_ring_is_named(command):
    """Without --via and RINGCAST_VIA a command says that it needs one."""
    for via in (None, "", "  "):
        one_line(dht(*command, via=via), 2, "no ring node is known; name one with --via HOST:PORT or RINGCAST_VIA")


@pytest.mark.parametrize("command", [["lookup", "a"], ["ring"], ["get", "a"], ["put", "a", "v", "--lease", "5"]])
def test_nobody_answers(command):
    """A ring that cannot be reached is exit code 1 after the patience, and names the address."""
    one_line(dht(*command, "--via", NOBODY, "--patience", "0.3"), 1, f"no reply from {NOBODY}")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("localhost", "is not HOST:PORT"),
        ("127.0.0.1:1,127.0.0.1:2", "repeat the option for several"),
        ("127.0.0.1:", "is not HOST:PORT"),
        ("127.0.0.1:0", "is not HOST:PORT"),
        ("127.0.0.1:65536", "is not HOST:PORT"),
        ("127.0.0.1:http", "is not HOST:PORT"),
        (":5000", "is not HOST:PORT"),
        ("::1:5000", "IPv6 address without brackets"),
        ("no.such.host.invalid:5000", "cannot be resolved"),
        (b"\xff:5000", "is no host name"),
        ("a" * 300 + ":5000", "host"),
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_a_bad_address_is_named(address, said):
    """An address that cannot be one is refused at once, by the commands that ask and by those that join."""
    one_line(dht("lookup", "a", "--via", address), 2, said)
    one_line(dht("join", "--bootstrap", address), 2, said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "add --advertise HOST"),
        (["--host", "::"], "add --advertise HOST"),
        (["--host", "*"], "add --advertise HOST"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1:0"),
        (["--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid:0"),
        (["--host", b"\xff"], "host"),
        (["--host", ""], "cannot listen on"),
        (["--advertise", "::1"], "IPv6 address without brackets"),
        (["--advertise", "*"], "--advertise"),
        (["--advertise", "0.0.0.0:5000"], "--advertise"),
        (["--advertise", "no.such.host.invalid"], "cannot be resolved"),
        (["--cluster", ""], "1 to 64 are allowed"),
        (["--cluster", "x" * 65], "1 to 64 are allowed"),
        (["--cluster", b"\xff"], "cluster"),
        (["--trace", "/proc/no/such"], "/proc/no/such"),
        (["--trace", "/dev/null"], "/dev/null"),
    ],
    ids=ascii,
)
def test_a_node_that_cannot_start_says_why(arguments, said):
    """What keeps a node from starting is one line and exit code 2."""
    one_line(dht("join", *arguments), 2, said)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["lookup", "a", "--cluster", b"\xff"], 2),
        (["lookup", "a", "--cluster", ""], 2),
        (["lookup", "a", "--cluster", "x" * 65], 2),
        (["lookup", "a", "--trace", "/proc/no/such"], 2),
        (["put", "a", "v", "--lease", "-1"], 2),
        (["put", "a", "v", "--lease", "0"], 2),
        (["put", "a", "v", "--lease", "2592001"], 2),
        (["put", "a", "v", "--lease", "5", "--version", str(2**53)], 1),
        (["put", "a", "v", "--lease", "nan"], 2),
        (["put", "a", "v", "--lease", "1e99"], 2),
        (["put", "a", "x" * 20_000, "--lease", "5"], 2),
        (["put", "a", "v", "--lease", "5", "--entry", ""], 2),
        (["put", "a", "v", "--lease", "5", "--entry", "x" * 301], 2),
        (["put", "a", "v", "--lease", "5", "--entry", b"\xff"], 2),
        (["delete", "a", "--entry", b"\xff"], 2),
        (["put", "a", "v", "--lease", "5", "--version", str(2**53 + 1)], 2),
        (["put", "a", "v", "--lease", "5", "--version", str(2**70)], 2),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_what_cannot_be_asked_says_why(via, arguments, code):
    """One line, whatever is wrong with it; what no ring could take is wrong usage."""
    one_line(dht(*arguments, "--patience", "1", via=via), code, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["lookup"],
        ["put", "a"],
        ["put", "a", "v"],
        ["join", "--port", "70000"],
        ["join", "--port", "x"],
        ["join", "--vnodes", "0"],
        ["join", "extra"],
        ["lookup", "a", "--nonsense"],
        ["lookup", "a", "--patience", "0"],
        ["lookup", "a", "--patience", "nan"],
        ["join", "--stabilize", "nan"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_2(arguments):
    """What the command line cannot read is exit code 2, with a hint and no traceback."""
    done = dht(*arguments, via=NOBODY)

    assert done.code == 2
    assert done.out == ""
    assert done.err != "" and "Traceback" not in done.err


def test_a_port_in_use_is_named(six):
    """A second node on a port that is taken: one line that names it, exit code 2."""
    port = six.addresses()[0].rpartition(":")[2]

    one_line(dht("join", "--port", port), 2, f"cannot listen on 127.0.0.1:{port}: Address already in use")


def test_another_cluster_is_refused(via):
    """Asking a ring of another name fails with both names."""
    done = dht("lookup", "a", "--via", via, "--cluster", "other", "--patience", "0.3")

    one_line(done, 1, "this process belongs to cluster 'ringcast', the request to 'other'")


def test_a_reader_that_stops_reading_is_no_traceback(via):
    """As of `| head -0`: exit code 141, and nothing on stderr."""
    names = [f"name-{number}" for number in range(500)]
    process = subprocess.Popen(
        [sys.executable, "-m", "chord.cli", "lookup", "--via", via, *names],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()

    assert process.wait(60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


# Joining what is not there -----------------------------------------------------------------------------------------


def test_a_node_that_is_still_trying_can_be_stopped():
    """SIGTERM ends a node that has not joined yet, with exit code 0 and no traceback."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        process = start(
            ["chord.cli", "join", "--bootstrap", f"127.0.0.1:{silent.getsockname()[1]}"], None, subprocess.PIPE
        )
        connection, _ = silent.accept()  # it is running, and asks

        process.terminate()

        assert process.wait(30) == 0
        assert process.stderr is not None
        assert re.fullmatch(rb"(127.* is still trying to join through 127.*\n)?", process.stderr.read())
        process.stderr.close()
        connection.close()


def test_a_node_waits_for_a_bootstrap_that_comes_later(ring):
    """A node started before the one that it joins through gets in once that one is there."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    early = ring.launch([f"127.0.0.1:{port}"])
    started = time.monotonic()
    eventually(lambda: time.monotonic() - started > 1.0 or early.process.poll() is not None)

    first = ring.launch([], port)
    ring.wait_ready([first, early])

    assert early.output.read_text().endswith("members=2\n")


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_ipv6_works(ring: LocalRing, host):
    """Nodes on ::1, in brackets or without, advertise addresses in brackets and find one another."""
    ring.options = ["--host", host]
    ring.grow(2)

    assert all(address.startswith("[::1]:") for address in ring.addresses())
    assert dht("lookup", "a", "--via", ring.addresses()[1]).code == 0


def test_a_host_name_works(ring: LocalRing):
    """A node may advertise a name, which is what its identifier is made from."""
    ring.options = ["--advertise", "localhost"]
    ring.grow(2)

    assert all(address.startswith("localhost:") for address in ring.addresses())
    assert [node.identifier for node in ring.nodes] == [member_id(address) for address in ring.addresses()]
    assert dht("ring", "--via", ring.addresses()[0]).code == 0


@pytest.mark.parametrize(
    ("options", "itself"),
    [([], "127.0.0.1"), ([], "localhost"), (["--host", "0.0.0.0", "--advertise", "localhost"], "127.0.0.3")],
)
def test_a_node_that_its_own_bootstrap_names_starts_alone(ring: LocalRing, options, itself):
    """All nodes may be given the same bootstrap list; the one that finds only itself in it starts the ring, and says
    so. Whatever it is called there.
    """
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    ring.options = options

    ring.wait_ready([ring.launch([f"{itself}:{port}"], port)])

    assert ring.nodes[0].output.read_text().endswith("members=1\n")
    said = f"every --bootstrap is {ring.nodes[0].address} itself, which starts a ring of its own\n"
    assert ring.nodes[0].errors.read_text() == said


@pytest.mark.parametrize("bootstrap", [True, False])
def test_the_address_of_a_living_node_is_not_advertised(six, via, bootstrap):
    """After the five seconds that a node which is being replaced may take: one line, exit code 1."""
    through = ["--bootstrap", six.addresses()[1 if bootstrap else 0]]

    done = dht("join", "--advertise", via, *through, timeout_s=20.0)

    one_line(
        done, 1, f"{via} is taken by a living node, which answers there: .*; stop it, or advertise another address"
    )


def test_traces_are_left_behind(ring: LocalRing, tmp_path):
    """--trace leaves a spool of events per node, and one of lookups per asker, closed when they end."""
    ring.options = ["--trace", str(tmp_path)]
    ring.grow(1)
    assert dht("lookup", "a", "--trace", str(tmp_path), via=ring.addresses()[0]).code == 0
    node = ring.nodes[0]
    node.process.send_signal(signal.SIGINT)
    assert node.process.wait(30) == 0

    rows = {path.name.partition("-")[0]: list(read_rows(path)) for path in tmp_path.iterdir()}
    assert [path.suffix for path in tmp_path.iterdir()] == [".trace", ".trace"]
    assert [row[1] for row in rows["node"] if row[0] == "event"] == ["bound", "ready", "left"]
    assert [row[0] for row in rows["client"]] == ["header", "lookup"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_node_that_no_ring_has_taken_in_yet_was_interrupted(number, code):
    """Ctrl-C while it still tries to join: 130, as of every command that did not get there. SIGTERM: 0, as ever."""
    process = subprocess.Popen(
        [sys.executable, "-m", "chord.cli", "join", "--bootstrap", NOBODY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert b"is still trying to join" in process.stderr.readline()
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=30)
    finally:
        process.kill()

    assert (process.returncode, stdout, stderr) == (code, b"", b"")


def test_a_second_interrupt_does_not_cut_the_farewell(ring: LocalRing):
    """SIGINT from a terminal, then SIGTERM again and again: the node still hands over and exits with 0."""
    ring.grow(2)
    assert dht("put", "a", "v", "--lease", "60", via=ring.addresses()[0]).code == 0
    node = ring.nodes[0]

    node.process.send_signal(signal.SIGINT)
    ended = eventually(lambda: (node.process.send_signal(signal.SIGTERM), node.process.poll() is not None)[1], 30.0)

    assert ended and node.process.returncode == 0
    ring.nodes.remove(node)
    assert dht("get", "a", via=ring.addresses()[0]).code == 0


@pytest.mark.parametrize("package", ["typer", "msgspec", "zmq"])
def test_an_interrupt_while_it_starts_is_no_traceback(tmp_path, monkeypatch, package):
    """Ctrl-C while `dht` is still importing what it needs: exit code 130, nothing on stderr."""
    (tmp_path / f"{package}.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    done = dht("lookup", "a", "--via", NOBODY)

    assert (done.code, done.out, done.err) == (130, "", "")


def test_running_the_module_is_running_the_command():
    """`python -m chord.cli` is `dht`."""
    assert run(["-m", "chord.cli", "--help"]).out.startswith("Usage: ")


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (
            "nobody",
            rf"127\.0\.0\.1:\d+ is still trying to join through {NOBODY}\n"
            rf"error: 127\.0\.0\.1:\d+ could not join through {NOBODY}: .*no reply from {NOBODY}.*; "
            r"the first node of a ring is started without --bootstrap\n",
        ),
        (
            "other cluster",
            r"error: .* could not join through .*belongs to cluster 'ringcast', the request to 'other'\n",
        ),
    ],
)
def test_a_node_that_cannot_join_gives_up(hopeless, attempt, said):
    """Whoever cannot be reached, or is of another cluster, is named when the patience is over; exit code 1."""
    process, errors = hopeless[attempt]

    assert process.wait(60) == 1
    assert re.fullmatch(said, errors.read_text())
