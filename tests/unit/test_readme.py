"""What the README lists is what there is."""

from __future__ import annotations

import re

from tests.architecture.sources import ROOT


def test_every_target_of_make_is_in_the_readme():
    """In a row of its own, and none that is gone."""
    targets = re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    rows = re.findall(r"^\| `make ([a-z]+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE)

    assert sorted(rows) == sorted(targets)
