"""An outcome holds what an operation ended with, and says it to who asks before or after."""

from __future__ import annotations

import pytest

from chord.errors import LookupFailed
from chord.outcome import Outcome


def test_an_outcome_is_the_result_once_it_is_there():
    """Asking before that is a mistake of the asker's."""
    outcome: Outcome[int] = Outcome()
    with pytest.raises(AssertionError, match="the operation goes on"):
        outcome.value()

    outcome.take(7, None)

    assert (outcome.done, outcome.value(), outcome.error) == (True, 7, None)


def test_an_outcome_raises_the_error_of_a_failure():
    """The error is there to look at, too."""
    outcome: Outcome[int] = Outcome()

    outcome.take(None, LookupFailed("nobody"))

    assert isinstance(outcome.error, LookupFailed)
    with pytest.raises(LookupFailed, match="nobody"):
        outcome.value()


def test_who_waits_for_an_outcome_is_told_of_it():
    """At its end when it has not ended, at once when it has."""
    heard: list[object] = []
    outcome: Outcome[int] = Outcome(lambda result, error: heard.append((result, error)))

    outcome.take(7, None)
    outcome.when_done(lambda result, error: heard.append((result, error)))

    assert heard == [(7, None)] * 2
