"""What a machine lacks is said in one line, and a link is never given less than it was asked for."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

from chord.errors import LocalProtocolError
from experiments.mininet.requirements import check_machine, find_mininet
from experiments.mininet.shaping import Shape, check_kernel, check_shape


@pytest.fixture
def debian(tmp_path, monkeypatch):
    """A machine with root and every program, whose Mininet lies where this interpreter does not look."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda program: f"/usr/bin/{program}")
    folder = tmp_path / "dist-packages"
    (folder / "mininet").mkdir(parents=True)
    (folder / "mininet" / "net.py").touch()
    return folder


def test_mininet_is_found_where_debian_puts_it(debian, tmp_path):
    """Also if the first folder that is looked at has nothing."""
    assert find_mininet([tmp_path / "other", debian]) == debian
    check_machine(capture=True, folders=[debian])


@pytest.mark.usefixtures("debian")
def test_without_mininet_the_package_is_named(tmp_path):
    """And where it was looked for."""
    with pytest.raises(LocalProtocolError, match=r"no `mininet` in .*other\): apt-get install mininet"):
        check_machine(folders=[tmp_path / "other"])


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("mnexec", "Mininet needs the program `mnexec`: apt-get install mininet"),
        ("brctl", "apt-get install bridge-utils"),
        ("tc", "apt-get install iproute2"),
        ("tshark", "--capture needs the program `tshark`: apt-get install tshark"),
    ],
)
def test_a_program_that_is_missing_is_named_with_its_package(debian, monkeypatch, program, text):
    """One line."""
    monkeypatch.setattr(shutil, "which", lambda each: None if each == program else f"/usr/bin/{each}")

    with pytest.raises(LocalProtocolError, match=text):
        check_machine(capture=True, folders=[debian])


def test_tshark_is_needed_for_a_capture_alone(debian, monkeypatch):
    """Without --capture nobody asks for it."""
    monkeypatch.setattr(shutil, "which", lambda each: None if each == "tshark" else f"/usr/bin/{each}")

    check_machine(folders=[debian])


def test_others_than_root_are_refused(debian, monkeypatch):
    """Before anything is looked for."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(LocalProtocolError, match="which only root can; run it as root"):
        check_machine(folders=[debian])


def test_nothing_is_drawn_with_before_the_machine_was_looked_at():
    """matplotlib has something to say to whoever may not write at home, and root alone may go on."""
    program = "import sys, experiments.cli_mininet, experiments.mininet.session; print('matplotlib' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (Shape(bw_mbit=0.0), "--bw is above 0 and at most 1000 Mbit/s, not 0"),
        (Shape(bw_mbit=1001.0), "--bw is above 0"),
        (Shape(delay_ms=-1.0), "--delay is 0 to 10000 ms, not -1"),
        (Shape(loss_percent=100.0), "--loss is 0 to less than 100 %"),
    ],
)
def test_numbers_that_mininet_would_leave_out_are_refused(shape, text):
    """Mininet itself logs that it ignores a bandwidth above 1000 Mbit/s, and goes on without."""
    with pytest.raises(LocalProtocolError, match=text):
        check_shape(shape)


def machine_with(tmp_path, monkeypatch, *disciplines: str) -> None:
    """A `tc` that knows these queueing disciplines, and no other, in what passes for a namespace of its own."""
    known = "|".join(f"*{each}*" for each in disciplines) or "none"
    programs = {
        "tc": f'case "$*" in {known}) exit 0;; esac\necho "Error: Specified qdisc kind is unknown." >&2\nexit 2',
        "unshare": 'test "$1" = --net || exit 1\nshift\nexec "$@"',
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (Shape(delay_ms=5.0), r"--delay needs the queueing discipline netem, which this kernel has not \(Error: Spec"),
        (Shape(bw_mbit=10.0, loss_percent=1.0), "leave --loss out, or use a kernel with CONFIG_NET_SCH_NETEM"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused(tmp_path, monkeypatch, shape, text):
    """Never left out: the line says which option, what `tc` said, and what to do."""
    machine_with(tmp_path, monkeypatch, "htb")

    with pytest.raises(LocalProtocolError, match=text):
        check_kernel(shape)


def test_what_the_kernel_can_do_is_taken(tmp_path, monkeypatch):
    """Bandwidth with htb; delay and loss with netem."""
    machine_with(tmp_path, monkeypatch, "htb", "netem")

    check_kernel(Shape(bw_mbit=10.0, delay_ms=5.0, loss_percent=1.0))


def test_a_shape_is_told_to_mininet_as_its_own_options():
    """And it is known which disciplines must be there afterwards."""
    shape = Shape(bw_mbit=10.0, delay_ms=2.5)

    assert shape.options() == {"bw": 10.0, "delay": "2.5ms"}
    assert shape.disciplines() == {"htb", "netem"}
    assert Shape().options() == {} and Shape().disciplines() == set()
