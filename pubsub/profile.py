"""Profiles: what a writer offers and a reader requests, and whether the one satisfies the other.

The rules are named after those of DDS: a reader is served only by writers that offer at least what it requests.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from chord.errors import LocalProtocolError
from pubsub.limits import MAX_HISTORY

Reliability = Literal["best_effort", "at_least_once"]
Durability = Literal["volatile", "transient", "persistent"]
Ownership = Literal["shared"]

RELIABILITY = ("best_effort", "at_least_once")
DURABILITY = ("volatile", "transient", "persistent")
"""From the weakest to the strongest."""


class Profile(msgspec.Struct, frozen=True, array_like=True):
    """What is offered or requested.

    `history` is how many past samples a late joiner gets. `volatile`: none are kept; `transient`: the publisher keeps
    them for as long as it lives; `persistent`: brokers keep them, so no direct writer offers it.
    """

    reliability: Reliability = "at_least_once"
    durability: Durability = "volatile"
    history: Annotated[int, msgspec.Meta(ge=0, le=MAX_HISTORY)] = 0
    ownership: Ownership = "shared"


def profile(reliability: str, history: int, durability: str | None = None) -> Profile:
    """A profile from what a person wrote; without a durability, the one that the history needs.

    Raises LocalProtocolError for what no profile can be.
    """
    if reliability not in RELIABILITY:
        raise LocalProtocolError(f"reliability {reliability!r} is unknown; it is one of {', '.join(RELIABILITY)}")
    if durability is not None and durability not in DURABILITY:
        raise LocalProtocolError(f"durability {durability!r} is unknown; it is one of {', '.join(DURABILITY)}")
    if not 0 <= history <= MAX_HISTORY:
        raise LocalProtocolError(f"a history has 0 to {MAX_HISTORY} samples, not {history}")
    if durability == "volatile" and history:
        raise LocalProtocolError(f"a volatile profile keeps no history, so not one of {history} samples either")
    kept = durability or ("transient" if history else "volatile")
    return Profile(reliability, kept, history)  # type: ignore[arg-type]  # both were looked up above


def incompatible(offered: Profile, requested: Profile) -> tuple[str, ...]:
    """The policies in which less is offered than requested; none means that writer and reader match."""
    return tuple(
        policy
        for policy, satisfied in (
            ("reliability", RELIABILITY.index(offered.reliability) >= RELIABILITY.index(requested.reliability)),
            ("durability", DURABILITY.index(offered.durability) >= DURABILITY.index(requested.durability)),
            ("history", offered.history >= requested.history),
            ("ownership", offered.ownership == requested.ownership),
        )
        if not satisfied
    )


def explain(offered: Profile, requested: Profile, policies: tuple[str, ...]) -> str:
    """Each incompatible policy with what was offered and what was requested."""
    return "; ".join(
        f"{policy}: offered {getattr(offered, policy)}, requested {getattr(requested, policy)}" for policy in policies
    )
