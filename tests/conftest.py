"""Hypothesis profiles. `make test` means the same everywhere: the examples are derived from the test itself.

HYPOTHESIS_PROFILE=explore draws new examples, more of them, and remembers what failed.

No profile has Hypothesis explain a failure: it traces every line to do so, which takes longer than a test may.
"""

import os

import pytest
from hypothesis import Phase, settings

PHASES = tuple(phase for phase in Phase if phase is not Phase.explain)

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True, phases=PHASES)
settings.register_profile("explore", deadline=None, print_blob=True, phases=PHASES, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

REAL = {"contract", "fault", "integration"}
"""Folders of tests with real processes, which wait most of the time, and do so one after the other."""

RECKONING = {
    "tests/integration/experiments/test_analyse.py",
    "tests/integration/experiments/test_gold.py",
    "tests/integration/experiments/test_report_page.py",
    "tests/integration/experiments/test_spread.py",
    "tests/integration/experiments/test_watch.py",
    "tests/integration/sim/test_paper_quick.py",
}
"""Of those folders what keeps a processor busy, and does not mind how long it takes."""

YIELDS = 10


def _is_real(nodeid: str) -> bool:
    file = nodeid.partition("::")[0]
    return file.split("/")[1] in REAL and file not in RECKONING


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `-n 2` all tests with real processes run on one worker; the other one reckons meanwhile."""
    from xdist.scheduler import LoadScopeScheduling

    class RealOnOne(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "real" if _is_real(nodeid) else nodeid.partition("::")[0]

    return RealOnOne(config, log)


def pytest_runtest_setup(item):
    """What only reckons, beside tests with real processes, leaves the processor to them."""
    if "PYTEST_XDIST_WORKER" in os.environ and not _is_real(item.nodeid) and os.nice(0) < YIELDS:
        os.nice(YIELDS)
