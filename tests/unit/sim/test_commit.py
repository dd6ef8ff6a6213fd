"""What is told of the code that runs: its commit, and whether that is all of it."""

from __future__ import annotations

import subprocess

import pytest

from sim.commit import checked_out, names_the_code


def git(folder, *arguments):
    identity = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "code.py").write_text("one = 1\n")
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "--quiet", "--message", "one")
    return tmp_path


def test_the_commit_is_told_in_full_and_whether_a_file_was_edited(checkout):
    """Whatever a tag calls it."""
    head = git(checkout, "rev-parse", "HEAD")
    git(checkout, "tag", "--annotate", "v1", "--message", "one")

    assert len(head) == 40
    assert checked_out(checkout) == head
    (checkout / "code.py").write_text("one = 2\n")
    assert checked_out(checkout) == f"{head}-dirty"


def test_outside_a_checkout_the_version_is_unknown(tmp_path, monkeypatch):
    """Also where there is no git."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert checked_out(tmp_path) == "unknown"

    monkeypatch.setenv("PATH", str(tmp_path))
    assert checked_out(tmp_path) == "unknown"


def test_only_a_commit_that_was_not_edited_names_the_code():
    """Two edits of one commit have the same name, and so have all versions outside a checkout."""
    assert [names_the_code(version) for version in ("1" * 40, "1" * 40 + "-dirty", "unknown")] == [True, False, False]
