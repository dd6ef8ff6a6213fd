"""What is told of a file that is no plan, or is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.sweep.plan_file import BadPlan
from experiments.sweep.plan_text import plan_text


def test_a_plan_is_the_text_of_its_file_or_comes_with_ringcast(tmp_path: Path) -> None:
    """By path, or by name."""
    path = tmp_path / "p.toml"
    path.write_text("title = 'N\u00e4chte'", encoding="utf-8")

    assert plan_text(str(path)) == "title = 'N\u00e4chte'"
    assert plan_text("quick").startswith("title = ")


def test_a_file_that_is_missing_is_told_once(tmp_path: Path) -> None:
    """That it is missing, and where there are plans."""
    path = tmp_path / "p.toml"

    with pytest.raises(BadPlan) as raised:
        plan_text(str(path))
    assert str(raised.value) == f"{path}: there is no such file; `sweep --list` names the plans that need none"


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A directory is no file."""
    with pytest.raises(BadPlan, match=rf"^{tmp_path}/: expected a file with a plan in TOML; .* \(Is a directory\)$"):
        plan_text(f"{tmp_path}/")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"\xef\xbb\xbftitle = 't'",
            "without a byte order mark (BOM); seen the BOM of UTF-8 at its beginning: save it",
        ),
        (
            "title = 't'".encode("utf-16"),
            "without a byte order mark (BOM); seen the BOM of UTF-16 at its beginning: save",
        ),
        (b"# one\ntitle = 'N\xe4chte'", "; seen the byte 0xe4 in line 2"),
    ],
)
def test_what_is_not_in_utf_8_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    """An editor may have put something before the first line that nobody sees."""
    path = tmp_path / "p.toml"
    path.write_bytes(content)

    with pytest.raises(BadPlan) as raised:
        plan_text(str(path))
    told = str(raised.value).removeprefix(f"{path}: expected TOML in UTF-8")
    assert told.lstrip().startswith(said)
