"""How a process outside the ring gets to an owner: one found lately, or by a lookup, and the trace that this leaves.

Where the ring can reach the asker, it looks up recursively; what is lost on the way is walked to.
"""

from __future__ import annotations

from chord.contacts import Contacts
from chord.effects import Operation
from chord.errors import LookupFailed, RingcastError
from chord.identifiers import IdentifierSpace
from chord.kernel import Kernel
from chord.lookup import Walk, ask_owner, find_owner
from chord.messages import Get, Page, Pointer
from chord.owner_cache import OwnerCache, confirm
from chord.recursion import find_owner_recursively
from chord.trace import LookupTrace


class Locator:
    """Finds owners through some contacts, and learns contacts on the way.

    `cache`: whether owners found lately are asked without a walk. `answer_at`: where this kernel answers requests
    (host:port), empty if it does not.
    """

    def __init__(self, kernel: Kernel, space: IdentifierSpace, contacts: Contacts, cache: bool, answer_at: str) -> None:
        self._kernel = kernel
        self._space = space
        self._contacts = contacts
        self._owners = OwnerCache(space) if cache else None
        self._answer_at = answer_at

    def locate(self, name: str) -> Operation[Walk]:
        """One attempt at a lookup: a cached owner confirms, or a walk is made. One trace either way."""
        first = Walk(self._space.key(name), started_at=self._kernel.now)
        owner = self.cached(first.key)
        if owner is None:
            return (yield from self.walk(name))[0]
        if (yield from confirm(self._kernel, owner, first)):
            _trace(self._kernel, name, first, "ok", "cached")
            return first
        self.forget(owner)
        return (yield from self.walk(name, first))[0]

    def walk(
        self, name: str, before: Walk | None = None, request: Get | None = None
    ) -> Operation[tuple[Walk, Page | None]]:
        """A way to the owner, and its trace; what was asked in vain `before` counts as part of it.

        If the way is walked, the owner is asked a `request` at its end, and need not confirm first. Returns the way,
        and the owner's answer to the request, None if it was not asked. Raises as `find_owner` and `ask_owner` do.
        """
        mode = "iterative"
        if self._answer_at:
            mode = "recursive"
            walk = Walk(self._space.key(name))
            try:
                yield from find_owner_recursively(self._kernel, self._contacts, self._answer_at, walk)
            except LookupFailed:
                self._contacts.another_first()
                before = _together(before, walk)
            else:
                return self._found(name, before, walk, mode), None
        walk = Walk(self._space.key(name))
        page: Page | None = None
        try:
            if request is None:
                yield from find_owner(self._kernel, self._space, self._contacts, walk)
            else:
                page = yield from ask_owner(self._kernel, self._space, self._contacts, walk, request, Page)
        except RingcastError as error:
            self._learn_contacts(walk)
            outcome = "ok" if walk.owner else type(error).__name__
            _trace(self._kernel, name, _together(before, walk), outcome, mode)
            raise
        return self._found(name, before, walk, mode), page

    def cached(self, key: int) -> Pointer | None:
        """The owner of a key that was found lately and is not suspected of being dead."""
        kernel = self._kernel
        owner = self._owners.find(key, kernel.now) if self._owners is not None else None
        return None if owner is None or kernel.round_trips.suspected(owner.address, kernel.now) else owner

    def forget(self, owner: Pointer) -> None:
        """A cached owner did not answer, or not as an owner."""
        if self._owners is not None:
            self._owners.forget(owner)

    def _found(self, name: str, before: Walk | None, walk: Walk, mode: str) -> Walk:
        """Learn from a way that led to the owner."""
        if self._owners is not None:
            self._owners.learn(walk, self._kernel.now)
        _trace(self._kernel, name, _together(before, walk), "ok", mode)
        self._learn_contacts(walk)
        return walk

    def _learn_contacts(self, walk: Walk) -> None:
        """Whoever answered on the way."""
        for pointer in walk.path:
            self._contacts.learn(pointer.address)


def _together(before: Walk | None, walk: Walk) -> Walk:
    """The walk, begun with what was asked in vain: a cached owner, or the ring recursively."""
    if before is not None:
        walk.started_at = before.started_at
        walk.exchanges[:0] = before.exchanges
    return walk


def _trace(kernel: Kernel, name: str, walk: Walk, outcome: str, mode: str) -> None:
    kernel.emit(trace_of(kernel, name, walk, outcome, mode, kernel.rng.getrandbits(63)))


def trace_of(kernel: Kernel, name: str, walk: Walk, outcome: str, mode: str, trace_id: int) -> LookupTrace:
    """The row that a lookup leaves; `kernel` is that of the process which asked. `name` is empty if there was none."""
    named_at = walk.named_at or kernel.now
    return LookupTrace(
        trace_id=trace_id,
        cluster=kernel.cluster,
        mode=mode,
        origin=kernel.address,
        name=name,
        key=walk.key,
        owner=walk.owner.id if walk.owner else None,
        owner_address=walk.owner.address if walk.owner else "",
        outcome=outcome,
        hops=walk.hops,
        timeouts=walk.timeouts,
        start_us=kernel.epoch_us(walk.started_at),
        duration_us=int((named_at - walk.started_at) * 1e6),
        owner_us=int((walk.ended_at - named_at) * 1e6) if walk.owner else 0,
        hop_list=walk.exchanges,
    )
