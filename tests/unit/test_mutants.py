"""Every mutant still is one: its patch fits the code, and changes it."""

from __future__ import annotations

import filecmp
import re
import shutil

import pytest

from tests.mutants.patches import ROOT, mutants, patched

REQUIRED = 10
"""Defects that have to be among them, at least."""


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_a_mutant_fits_the_code_and_changes_it(mutant, tmp_path):
    """A patch that no longer applies would be a mutant that nobody runs; one of a comment would be none."""
    files = re.findall(r"^\+\+\+ b/(.+)$", mutant.patch.read_text(), re.MULTILINE)
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)

    patched(mutant, tmp_path)

    assert files
    assert all(file.split("/")[0] in ("chord", "pubsub", "broker") for file in files)
    assert not any(filecmp.cmp(ROOT / file, tmp_path / file, shallow=False) for file in files)
    assert mutant.defect
    assert all((ROOT / test).exists() for test in mutant.tests), mutant.tests


def test_the_mutants_are_there():
    """One for each of the defects that have to be found, at least."""
    assert len(mutants()) >= REQUIRED
