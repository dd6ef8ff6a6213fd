"""What the instances of one command have of their own, and which exit code all of them have."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from broker.cli_clients import check_addresses
from broker.instances import Instance, divide
from broker.prefixed import Prefixed
from broker.supervising import exit_code
from chord.errors import LocalProtocolError


def test_a_single_client_is_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for it, and its lines are as they were."""
    monkeypatch.setattr("broker.instances.end_on_sigterm", lambda: None)
    instance = divide(1)

    assert (instance.number, instance.count, instance.prefix) == (1, 1, "")


@pytest.mark.parametrize(("number", "port"), [(1, 5000), (2, 5001), (10, 5009)])
def test_ports_are_in_a_row(number: int, port: int) -> None:
    """From the one that was asked for on; 0 is any for all of them."""
    assert Instance(number, 10).port(5000) == port
    assert Instance(number, 10).port(0) == 0


def test_each_of_several_has_a_file_of_its_own(tmp_path: Path) -> None:
    """Its number comes before the ending."""
    assert Instance(2, 3).path(tmp_path / "a.csv") == tmp_path / "a-2.csv"
    assert Instance(2, 3).path(tmp_path / "a") == tmp_path / "a-2"
    assert Instance().path(tmp_path / "a.csv") == tmp_path / "a.csv"


def test_what_is_no_file_is_shared() -> None:
    """A pipe, or nowhere, has no numbered sibling."""
    assert Instance(2, 3).path(Path("/dev/null")) == Path("/dev/null")


def test_lines_are_written_whole_behind_their_prefix() -> None:
    """However they come in pieces."""
    stream = io.StringIO()
    prefixed = Prefixed(stream, "[2] ")

    for piece in ("error: ", "no ring", "\n", "a\nb\nc"):
        prefixed.write(piece)

    assert stream.getvalue() == "[2] error: no ring\n[2] a\n[2] b\n"


CODES = [([0, 0], 0), ([0, 1, 2], 1), ([2, 0, 1], 2), ([0, 137], 137), ([143, 141], 141)]


@pytest.mark.parametrize(("codes", "code"), CODES)
def test_the_first_that_failed_gives_the_exit_code(codes: list[int], code: int) -> None:
    """By number, not by time; but where nobody reads the others were ended for that."""
    assert exit_code(codes) == code


@pytest.mark.parametrize("advertise", ["h:5000", "[::1]:5000", "10.0.0.1:0"])
def test_one_port_is_not_for_several(advertise: str) -> None:
    """Others would reach only one of them."""
    check_addresses(1, 0, advertise)
    with pytest.raises(LocalProtocolError, match="name the host alone"):
        check_addresses(2, 0, advertise)


@pytest.mark.parametrize("advertise", [None, "", "h", "10.0.0.1", "[::1]"])
def test_a_host_alone_is_for_several(advertise: str | None) -> None:
    """Each listens on a port of its own there."""
    check_addresses(2, 65_534, advertise)
