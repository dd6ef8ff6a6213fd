"""What a command draws in the end, it says that it draws."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from broker import cli_pub, cli_sub


@pytest.mark.parametrize(
    ("draw", "nothing"),
    [
        (lambda plot, files: cli_sub._draw(plot, ["T"], files), "no sample came"),
        (lambda plot, files: cli_pub._draw(plot, 1.0, files), "nothing was published"),
    ],
)
def test_it_is_said_that_drawing_begins(draw, nothing, capsys):
    """On stderr, before what takes seconds: importing what draws."""
    with tempfile.TemporaryFile() as file:
        draw(Path("ci.png"), [file])

    assert capsys.readouterr().err == f"drawing ci.png ...\n{nothing}, so ci.png was not drawn\n"
