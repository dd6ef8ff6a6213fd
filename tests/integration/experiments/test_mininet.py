"""A virtual network of four hosts and a few more, through the command. These tests fail where Mininet is missing.

They need root, and Debian's mininet, bridge-utils and tshark (.ci/run installs them).
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from experiments.capture.matching import read
from experiments.mininet.census import MARK
from experiments.mininet.place import TEMPORARY
from experiments.traces.run import load
from tests.integration.experiments.command import started
from tests.waiting import eventually

DEADLINE_S = 170.0


def finished(tmp_path, *arguments: str) -> tuple[int, str, str]:
    with started("mininet", *arguments, "--out", str(tmp_path / "run"), temporary=tmp_path / "tmp") as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)
    return process.returncode, stdout, stderr


def of_run(command: int) -> list[int]:
    """The processes of the runs that a command has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = path.read_bytes()
        except OSError:
            continue
        if f"{MARK}={command}-".encode() in environment:
            found.append(int(path.parent.name))
    return found


def hosts_of(processes: list[int]) -> set[str]:
    """The network namespaces that they are in."""
    spaces = set()
    for process in processes:
        try:
            spaces.add(str(Path(f"/proc/{process}/ns/net").readlink()))
        except OSError:
            continue
    return spaces


def test_four_hosts_are_asked_while_one_dies_and_a_link_is_cut(tmp_path):
    """Ring nodes on addresses of the virtual network answer on; the run says that it was Mininet, and what was done.

    Bridges, links, namespaces and processes there are meanwhile; afterwards nothing of it is left.
    """
    code, stdout, stderr = finished(
        tmp_path,
        *("--hosts", "4", "--topology", "linear", "--bw", "100", "--lookups", "200", "--json"),
        *("--fault", "kill:node:3@1", "--fault", "link_down:link:s2-s3@2", "--fault", "link_up:link:s2-s3@3"),
    )

    assert code == 0, stderr
    told = json.loads(stdout)
    info = load(tmp_path / "run" / "lookups" / "run.json")
    assert (info.source, info.ring_size, info.extra["shape"]) == ("mininet", 4, {"bw": 100.0})
    assert info.finished_us is not None and info.kill_us is not None
    assert [(each["kind"], each.get("host"), each.get("links")) for each in info.faults or []] == [
        ("kill", "h4", None),
        ("link_down", None, ["s2-s3"]),
        ("link_up", None, ["s2-s3"]),
    ]
    assert {each["address"] for each in info.extra["hosts"].values()} == {f"10.0.0.{host}" for host in range(1, 5)}
    (cell,) = told["cells"]
    assert cell["lookups"]["asked"] == 200
    assert cell["lookups"]["ok"] >= 150
    assert cell["lookups"]["timeouts"] > 0
    (own,) = told["own"]
    assert (own["bridges"], own["namespaces"], own["veth_ends"]) == (4, 5, 14)
    assert own["processes"] >= 4 + 4 + 1
    assert set(told["left"].values()) == {0}


def test_samples_are_seen_on_the_wire_and_by_the_applications(tmp_path):
    """Direct and brokered, from one host to another: every delivery has both latencies, and a picture shows them."""
    code, stdout, stderr = finished(
        tmp_path,
        *("--hosts", "6", "--topology", "tree,depth=2,fanout=3", "--dissemination", "direct,brokered", "--capture"),
        *("--replicas", "1", "--samples", "30", "--rate", "50", "--json"),
    )

    assert code == 0, stderr
    told = json.loads(stdout)
    assert [cell["cell"] for cell in told["cells"]] == ["direct-001-001", "brokered-001-001"]
    for cell in told["cells"]:
        assert (cell["delivered"], cell["wire"]["count"], cell["unmatched"]) == (30, 30, 0)
        rows = read(tmp_path / "run" / cell["cell"] / "wire.parquet")
        assert [row.sequence for row in sorted(rows, key=lambda row: row.sequence)] == list(range(1, 31))
        assert all(row.wire_us is not None and 0 < row.wire_us < row.app_us for row in rows)
    assert (tmp_path / "run" / "wire.png").read_bytes().startswith(b"\x89PNG")
    assert set(told["left"].values()) == {0}


PLAN = """
title = "Four hosts"

[[sweep]]
where = "mininet"
topology = "tree,depth=2,fanout=3"
nodes = 4
lookups = 60

[[sweep]]
where = "mininet"
topology = "linear"
nodes = 2
dissemination = "direct"
publishers = 1
subscribers = 1
samples = 20
"""


def test_a_sweep_runs_on_four_hosts(tmp_path):
    """Mininet is a place of sweeps: each cell is a network of its own, and its run.json says what it was."""
    plan, run = tmp_path / "four.toml", tmp_path / "run"
    plan.write_text(PLAN)
    with started("sweep", str(plan), "--out", str(run), temporary=tmp_path / "tmp") as process:
        _, stderr = process.communicate(timeout=DEADLINE_S)

    assert process.returncode == 0, stderr
    infos = [load(path) for path in run.glob("*/run.json")]
    assert [(info.source, len(info.extra["hosts"])) for info in infos] == [("mininet", 4)] * 2
    assert {info.dissemination for info in infos} == {None, "direct"}
    assert all(set(info.extra["census"]["own_after"].values()) == {0} for info in infos)
    assert not of_run(process.pid)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_run_that_is_stopped_leaves_nothing_behind(tmp_path, number, code):
    """Neither upon Ctrl-C nor upon kill -9 is a process left, and so no host, bridge or namespace either."""
    arguments = ("mininet", "--hosts", "4", "--lookups", "1000000", "--out", str(tmp_path / "run"))
    with started(*arguments, temporary=tmp_path / "tmp") as process:
        eventually(lambda: len(hosts_of(of_run(process.pid))) == 5 or process.poll() is not None, DEADLINE_S, "hosts")
        eventually(lambda: len(of_run(process.pid)) >= 8 or process.poll() is not None, DEADLINE_S, "processes")
        assert process.poll() is None, process.stderr.read() if process.stderr else ""

        process.send_signal(number)
        process.communicate(timeout=DEADLINE_S)

        assert process.returncode == code
        eventually(lambda: not of_run(process.pid), 20.0, "the end of every process of the run")
    left = [*(tmp_path / "tmp").iterdir(), *(tmp_path / "run" / "lookups" / TEMPORARY).glob("*")]
    assert not left, f"files that nobody needs any more: {left}"


def test_a_delay_is_kept_or_refused(tmp_path):
    """Where the kernel has no netem the command ends with one line that says so; it never goes on without."""
    code, stdout, stderr = finished(tmp_path, "--hosts", "2", "--lookups", "20", "--delay", "20", "--json")

    if code == 0:
        assert json.loads(stdout)["cells"][0]["lookups"]["latency"]["p99_us"] > 40_000
        return
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert "--delay needs the queueing discipline netem, which this kernel has not" in stderr
    assert not (tmp_path / "run").exists()
