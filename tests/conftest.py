"""Hypothesis profiles. `make test` means the same everywhere: the examples are derived from the test itself.

HYPOTHESIS_PROFILE=explore draws new examples, more of them, and remembers what failed.

No profile has Hypothesis explain a failure: it traces every line to do so, which takes longer than a test may.
"""

import os

from hypothesis import Phase, settings

PHASES = tuple(phase for phase in Phase if phase is not Phase.explain)

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True, phases=PHASES)
settings.register_profile("explore", deadline=None, print_blob=True, phases=PHASES, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
