"""The mutants: reading their patches, and applying one to a copy of the tree."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("chord", "pubsub", "broker", "sim", "experiments", "tests", "docs", "scripts", "examples")


@dataclass(frozen=True)
class Mutant:
    """A patch, what it makes wrong, and the tests that are run on it first."""

    patch: Path
    defect: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.patch.stem


def mutants() -> list[Mutant]:
    """All mutants, by name."""
    return [_read(patch) for patch in sorted(Path(__file__).parent.glob("*.patch"))]


def _read(patch: Path) -> Mutant:
    head = [line[1:].strip() for line in patch.read_text().splitlines() if line.startswith("#")]
    tests = [line.removeprefix("tests:").split() for line in head if line.startswith("tests:")]
    defect = " ".join(line for line in head if not line.startswith("tests:"))
    return Mutant(patch, defect, tuple(name for names in tests for name in names))


def mutated(mutant: Mutant, into: Path) -> None:
    """Copy the tree and apply a mutant to the copy. Raises CalledProcessError when the patch does not fit."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, into / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for file in ROOT.iterdir():
        if file.is_file() and not file.name.startswith(".git"):
            shutil.copy(file, into / file.name)
    patched(mutant, into)


def patched(mutant: Mutant, tree: Path) -> None:
    """Apply a mutant to a tree, where every line of it has to fit as it stands."""
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", str(mutant.patch)], cwd=tree, check=True, capture_output=True, text=True
    )
