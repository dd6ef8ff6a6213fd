"""Hypothesis profiles. `make test` means the same everywhere: the examples are derived from the test itself.

HYPOTHESIS_PROFILE=explore draws new examples, more of them, and remembers what failed.
"""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
