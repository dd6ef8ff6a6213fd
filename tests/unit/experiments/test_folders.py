"""Folders that a command writes are directories, and one process at a time writes them."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from chord.errors import LocalProtocolError
from experiments import folders
from experiments.analyse import LOCK_FILE, analyse
from experiments.folders import alone, made
from experiments.page.making import make
from experiments.traces import examples
from experiments.traces.run import BadRun
from experiments.watch.display import JsonLines
from experiments.watch.watching import Options, watch

HOLDS = """
import sys
from pathlib import Path
from experiments.folders import alone
with alone(Path(sys.argv[1]), "analysis", "wait"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    """Also when it is on the way to the folder. What is missing is made."""
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")

    for path, which in (("file", "file"), ("file/below/it", "file"), ("link", "link")):
        with pytest.raises(LocalProtocolError, match=rf"/{which} is not a directory; name another with --out"):
            made(tmp_path / path)
    assert made(tmp_path / "new" / "folder").is_dir()
    assert made(tmp_path / "new") == tmp_path / "new"


def test_a_second_process_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    """It is told which process that is; once that has ended, the folder is free."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with (
            pytest.raises(LocalProtocolError, match=rf"another analysis \(process {other.pid}\) is at work in .*"),
            alone(tmp_path, "analysis", "wait"),
        ):
            pass
        other.communicate()
    with alone(tmp_path, "analysis", "wait"):
        pass


def test_what_a_killed_process_started_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds the lock as well, but the process that is named in it is gone."""
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    (tmp_path / ".lock").write_text(str(gone.pid))
    left = os.open(tmp_path / ".lock", os.O_RDWR)
    fcntl.flock(left, fcntl.LOCK_EX)
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        os.close(left)

    monkeypatch.setattr(folders.time, "sleep", wait)
    with alone(tmp_path, "analysis", "wait"):
        assert len(waited) == 1


def test_one_analysis_of_a_run_and_into_a_folder(tmp_path: Path) -> None:
    """Whichever of the two another one works in, nothing is touched, and no Java is started."""
    replace(examples.RUN, run="r").save(tmp_path / "run")
    (tmp_path / "run" / "parquet").mkdir()
    left = tmp_path / "run" / "parquet" / "unfinished.parquet"
    left.touch()
    out = made(tmp_path / "out")

    for busy in (tmp_path / "run" / "parquet", out):
        with (
            alone(busy, "analysis", "wait", LOCK_FILE),
            pytest.raises(LocalProtocolError, match=rf"analysis \(process {os.getpid()}\) is at work in {busy}; wait"),
        ):
            analyse([tmp_path / "run"], "spark://nowhere:1", out)
    assert left.exists()


def test_results_that_cannot_go_where_they_are_to(tmp_path: Path) -> None:
    """An --out that is a file is a mistake of whoever gave it."""
    replace(examples.RUN, run="r").save(tmp_path / "run")
    (tmp_path / "run" / "analysis" / "gold").mkdir(parents=True)
    (tmp_path / "file").touch()

    with pytest.raises(LocalProtocolError, match="file is not a directory; name another with --out"):
        analyse([tmp_path / "run"], "spark://nowhere:1", tmp_path / "file")
    with pytest.raises(LocalProtocolError, match="file is not a directory; name another with --out"):
        make([tmp_path / "run"], tmp_path / "file", None, lambda *_: None)


def test_a_run_that_is_given_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whatever name, by `analyse`, `analyse --watch` and `report`; to name it apart would not help."""
    monkeypatch.chdir(tmp_path)
    replace(examples.RUN, run="r").save(Path("all/run"))
    Path("all/run/analysis/gold").mkdir(parents=True)
    Path("link").symlink_to("all/run")
    run, link = Path("all/run"), Path("link")
    commands: list[Callable[[list[Path]], object]] = [
        lambda runs: analyse(runs, "spark://nowhere:1", Path("out")),
        lambda runs: watch(runs, Path("out"), Options(), JsonLines(runs)),
        lambda runs: make(runs, Path("out"), None, lambda *_: None),
    ]

    for command in commands:
        with pytest.raises(LocalProtocolError, match=r"^all/run is given twice; give it once$"):
            command([run, Path("all/run")])
        with pytest.raises(LocalProtocolError, match=r"^link is given twice, also as all/run; give it once$"):
            command([run, link])
    with pytest.raises(BadRun, match="all/run is given twice: by itself and with a folder that it lies in; give one"):
        commands[0]([Path("all"), run])
    with pytest.raises(LocalProtocolError, match="all/run/analysis is given twice, also as all/run"):
        commands[2]([run, run / "analysis"])
    with pytest.raises(LocalProtocolError, match="--against link is on the page itself; give another run to compare"):
        make([run], Path("out"), link, lambda *_: None)
    assert not Path("out").exists()
