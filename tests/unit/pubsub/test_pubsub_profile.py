"""Profiles: which writer satisfies which reader."""

from __future__ import annotations

import pytest

from chord.errors import LocalProtocolError
from pubsub.profile import Profile, explain, incompatible, profile


@pytest.mark.parametrize(
    ("offered", "requested", "policies"),
    [
        (Profile(), Profile(), ()),
        (Profile("best_effort"), Profile("at_least_once"), ("reliability",)),
        (Profile("at_least_once"), Profile("best_effort"), ()),
        (Profile(durability="transient"), Profile(durability="persistent"), ("durability",)),
        (Profile(durability="persistent"), Profile(durability="volatile"), ()),
        (Profile(durability="transient", history=9), Profile(durability="transient", history=10), ("history",)),
        (Profile(durability="transient", history=10), Profile(durability="transient", history=10), ()),
        (
            Profile("best_effort", "volatile", 0),
            Profile("at_least_once", "transient", 1),
            ("reliability", "durability", "history"),
        ),
    ],
)
def test_a_reader_matches_only_writers_that_offer_as_much(offered, requested, policies):
    """Request versus offered, policy by policy."""
    assert incompatible(offered, requested) == policies


def test_an_explanation_names_both_sides():
    """Whoever reads it knows what to change."""
    offered, requested = Profile("best_effort"), Profile("at_least_once")

    assert explain(offered, requested, ("reliability",)) == (
        "reliability: offered best_effort, requested at_least_once"
    )


def test_the_durability_follows_from_the_history():
    """A history needs somebody to keep it."""
    assert profile("at_least_once", 0).durability == "volatile"
    assert profile("at_least_once", 5).durability == "transient"
    assert profile("at_least_once", 0, "persistent").durability == "persistent"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("maybe", 0), "reliability 'maybe' is unknown; it is one of best_effort, at_least_once"),
        (("best_effort", 0, "eternal"), "durability 'eternal' is unknown"),
        (("best_effort", -1), "history has 0 to"),
        (("best_effort", 10**9), "history has 0 to"),
        (("best_effort", 3, "volatile"), "volatile profile keeps no history"),
    ],
)
def test_what_no_profile_can_be_is_refused(arguments, why):
    """The error says what is allowed."""
    with pytest.raises(LocalProtocolError, match=why):
        profile(*arguments)
