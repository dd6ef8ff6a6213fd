"""`python -m tests.mutants [NAME...]`: the ordinary suite has to fail on every mutant.

Prints for each one which test killed it, and how many tests had run by then. Exit codes: 0 all were killed, 1 one
survived, 2 usage.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tests.mutants.patches import Mutant, mutants, mutated


def main(names: list[str]) -> int:
    """Run the suite on the mutants of these names, or on all."""
    known = {mutant.name: mutant for mutant in mutants()}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"error: no mutant is called {unknown[0]}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    survivors = [name for name in names or known if not killed(known[name])]
    for name in survivors:
        print(f"error: {name} survives the ordinary suite: {known[name].defect}", file=sys.stderr)
    return 1 if survivors else 0


def killed(mutant: Mutant) -> bool:
    """Whether a test fails on a mutant: of those named in its patch, or else of the whole suite."""
    began_at = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ringcast-mutant-") as directory:
        tree = Path(directory)
        mutated(mutant, tree)
        ran = 0
        for chosen in (mutant.tests, ()):
            count, failure = _run(tree, chosen)
            ran += count
            if failure:
                took_s = time.monotonic() - began_at
                print(f"{mutant.name}: killed by {failure}, test {ran} to run, in {took_s:.0f} s", flush=True)
                return True
    print(f"{mutant.name}: survives {ran} tests", flush=True)
    return False


def _run(tree: Path, chosen: tuple[str, ...]) -> tuple[int, str]:
    """How many tests ran, and the first that failed; nothing when none did."""
    report = tree / "mutant.xml"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *chosen],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    if not report.exists():
        raise SystemExit(f"error: the tests did not run:\n{result.stdout}{result.stderr}")
    cases = list(ElementTree.parse(report).iter("testcase"))
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None:
            return len(cases), f"{case.get('classname')}::{case.get('name')}"
    return len(cases), ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
