"""Judges a chaos run after every event: the invariant of the ring, and who may be named as an owner meanwhile."""

from __future__ import annotations

from chord.member import Member
from chord.messages import Pointer
from chord.ring_state import RingState
from sim import invariants
from sim.stage import Broken, Stage


class Watch:
    """What the scheduler asks after each event. Raises Broken."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._principals = invariants.Principals()
        self._lookups: dict[int, tuple[int, set[Pointer]]] = {}
        self._comings = 0
        self._members: list[Member] = []
        self._seen: tuple[list[RingState], list[bool]] = [], []

    def rest(self) -> None:
        """The ring is ideal and nobody is joining: its members now are those that it rests on."""
        self._principals.rest_on(self._stage.cluster.members())

    def look(self) -> bool:
        """Judge the ring if the last event changed it; never done."""
        cluster = self._stage.cluster
        if cluster.comings != self._comings:
            self._comings = cluster.comings
            self._members = cluster.members()
        members = self._members
        # Its field, not its property: this runs at every event.
        seen = [member._state for member in members], [member.active for member in members]
        if seen == self._seen:
            return False
        self._seen = seen
        self._stage.verdict.checks += 1
        if self._stage.strict:
            found = invariants.broken(members) or self._principals.lost(members)
            for key, named in self._lookups.values():
                named.update(self._owners(key), self._heirs(named))
        else:
            found = [fault for member in members if member.active for fault in invariants.list_faults(member.state)]
        if found:
            raise Broken("\n".join(found))
        return False

    def begin_lookup(self, number: int, key: int) -> None:
        """Note whom a lookup may name from now on until it ends."""
        self._lookups[number] = key, set(self._owners(key))

    def end_lookup(self, number: int, named: Pointer | None) -> None:
        """Judge whom it named, or that it named nobody."""
        key, allowed = self._lookups.pop(number)
        if named is not None and named not in allowed:
            raise Broken(f"a lookup of {key:x} named {named}, not one of {', '.join(map(str, allowed))}")

    def _heirs(self, named: set[Pointer]) -> list[Pointer]:
        """The next member after each that has died since a lookup might name it: it stands in until that is known."""
        members = [member.me for member in self._stage.cluster.members() if member.active]
        mask = self._stage.cluster.settings.space.size - 1
        dead = named.difference(members)
        return [min(members, key=lambda pointer: (pointer.id - one.id) & mask) for one in dead] if members else []

    def _owners(self, key: int) -> list[Pointer]:
        """Who may be named as the owner of a key: the first member from it on that the ring knows, and those before."""
        members = [member for member in self._stage.cluster.members() if member.active]
        known = invariants.principals(members)
        mask = self._stage.cluster.settings.space.size - 1
        found: list[Pointer] = []
        for member in sorted(members, key=lambda one: (one.me.id - key) & mask):
            found.append(member.me)
            if member.me in known:
                break
        return found
