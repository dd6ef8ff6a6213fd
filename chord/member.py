"""One virtual node: its view of the ring, what it owns, and whom it names on the way to an owner.

What it answers to requests is installed by modules of their own; so are the operations that ask somebody.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from chord import ring_state
from chord.compared import Compared
from chord.effects import Operation
from chord.errors import Busy, NotOwner, RemoteProtocolError
from chord.fingers import FingerTable, Routes
from chord.identifiers import between_right
from chord.kernel import Kernel
from chord.limits import MAX_NAMED
from chord.messages import (
    Hop,
    Neighbours,
    NextHop,
    Ping,
    Pointer,
    ReplyBody,
    Request,
    contact,
)
from chord.reach import Reach
from chord.records import RecordStore
from chord.ring_state import RingState
from chord.settings import Settings
from chord.trace import EventTrace

OWNERS_NAMED = 4
"""The owner and its successors, as the predecessor names them."""

HOPS_NAMED = 3
"""Candidates for the next hop in one answer: the best, and two to fall back on."""

DEPARTED_KEPT = 16
"""Members that have said that they leave: what they sent before may come after."""

Handler = Callable[[Any], "ReplyBody | Operation[ReplyBody] | None"]


class Member:
    """A member of the ring, or one that is joining it (`active` is False until then).

    It is `adopted` once its predecessor has asked it for its neighbours, and `attached` once one has that is attached
    itself. Of several that have joined one behind the other the ring may know only the first.

    `siblings` are all members of its process, this one too once it is among them; they share what they store.
    """

    def __init__(
        self,
        kernel: Kernel,
        settings: Settings,
        me: Pointer,
        lost: Callable[[Pointer], None],
        siblings: list[Member] | None = None,
    ) -> None:
        self.kernel = kernel
        self.settings = settings
        self.me = me
        self.active = False
        self.leaving = False
        self.handed_over = False
        self.rejoining = False
        self.attached = self.adopted = False
        self.reach = Reach(me.id, settings.space, kernel.now)
        self.pending = 0
        self.stabilizing = False
        self.stabilize_again = False
        self.repairing = False
        self.repair_again = False
        self.rectifying = False
        self.asking_around = False
        self.notifier: Pointer | None = None
        self.departed: deque[Pointer] = deque(maxlen=DEPARTED_KEPT)
        self.heard_at = 0.0
        self.siblings = [self] if siblings is None else siblings
        self.store: RecordStore = siblings[0].store if siblings else RecordStore(settings.space)
        self.compared: Compared = siblings[0].compared if siblings else Compared()
        self.fingers = FingerTable(me, settings.space)
        self.handlers: dict[type, Handler] = {}
        self.start_stabilizing: Callable[[], None] = lambda: None
        self.start_rectifying: Callable[[], None] = lambda: None
        self.start_repairing: Callable[[], None] = lambda: None
        self.start_yielding: Callable[[int, Pointer], None] = lambda _low, _predecessor: None
        self.start_asking_around: Callable[[int, Pointer], None] = lambda _low, _joiner: None
        self.start_meeting: Callable[[Pointer], None] = lambda _peer: None
        # What the successor answered last, and the state that this led to: the same again leads nowhere else.
        self.confirming: Neighbours | None = None
        self.confirmed_state: RingState | None = None
        self.lost = lost
        self._state = RingState(me, settings.space, settings.successors, settings.others)
        self._routes: Routes | None = None

    # State ---------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> RingState:
        """This member's view of its neighbours; assigning it is the only way that it changes."""
        return self._state

    @state.setter
    def state(self, new: RingState) -> None:
        old = self._state
        if new is old or new == old:
            return
        self._state = new
        self._routes = None
        if new.predecessor != old.predecessor:
            self.heard_at = self.kernel.now
            self.adopted = False
            self.reach.moved()
        if new.alone and new.predecessor is None:  # else somebody has joined, and may have taken its arc over
            self.reach.alone()
            self.attached = self.active
        if new.predecessor != old.predecessor or new.successors != old.successors:
            self.start_repairing()

    def become(self, me: Pointer) -> None:
        """Start anew as another incarnation that has yet to join; the records stay."""
        self.me = me
        self.active = self.attached = self.adopted = False
        self.notifier = None
        self.fingers = FingerTable(me, self.settings.space)
        self.state = RingState(me, self.settings.space, self.settings.successors, self.settings.others)

    def forget(self, gone: Pointer) -> None:
        """Point no more to a member that has gone."""
        self.state = ring_state.dropped(self._state, gone)
        if self.fingers.drop(gone):
            self._routes = None

    def drop(self, dead: Pointer) -> None:
        """Forget a member that did not answer; its address is remembered, and probed from time to time."""
        self.forget(dead)
        self.lost(contact(dead.address))  # whoever runs there next
        self.event("dropped", str(dead))

    def drop_silent(self, silent: Pointer) -> None:
        """Forget a member that did not answer, and with it all others that its process has: they are as dead."""
        state = self._state
        known = [state.predecessor] if state.predecessor is not None else []
        for pointer in dict.fromkeys((*known, *state.successors, *self.fingers)):
            if pointer.address == silent.address != self.me.address:
                self.drop(pointer)

    def fill_finger(self, index: int, owner: Pointer) -> None:
        """Set the fingers that one lookup answered."""
        before = self.fingers.changes
        self.fingers.fill(index, owner)
        if self.fingers.changes != before:
            self._routes = None

    def event(self, kind: str, detail: str = "") -> None:
        """Keep an event of this member in the traces."""
        kernel = self.kernel
        kernel.emit(
            EventTrace(
                kind=kind, node=self.me.id, address=self.me.address, at_us=kernel.epoch_us(kernel.now), detail=detail
            )
        )

    # Ownership -----------------------------------------------------------------------------------------------------

    def owns(self, key: int) -> bool:
        """Whether the key lies in (predecessor, me], or this member is alone."""
        predecessor = self._state.predecessor
        if predecessor is None:
            return self._state.alone
        return between_right(predecessor.id, key, self.me.id)

    def answers_for(self, key: int) -> bool:
        """Whether this member owns the key, or stands in for a predecessor that it has not heard from lately."""
        if self.owns(key) or self._state.predecessor is None:
            return True
        return self.kernel.now - self.heard_at > self.settings.silence_s

    def require_owner(self, key: int) -> None:
        """Raises NotOwner, with the predecessor as a hint, unless this member answers for the key.

        Raises Busy if it has lost all its successors: it may be cut off, and nobody else would hold what it takes.
        """
        if self._state.isolated:
            raise Busy(f"{self.me} has lost all its successors, and looks for others")
        if not self.answers_for(key):
            raise NotOwner(
                f"key {key:016x} is not owned by {self.me}; its predecessor {self._state.predecessor} is nearer",
                self._state.predecessor,
            )

    def share(self) -> tuple[int, int]:
        """The part (low, me] of the circle whose records this member hands on for its process: up to its sibling's."""
        distance = self.settings.space.distance
        others = [sibling.me.id for sibling in self.siblings if sibling is not self]
        return min(others, key=lambda low: distance(low, self.me.id), default=self.me.id), self.me.id

    def arc(self) -> tuple[int, int]:
        """The keys that this member owns: (predecessor, me], the whole ring when it has no predecessor."""
        predecessor = self._state.predecessor
        return (predecessor.id if predecessor else self.me.id), self.me.id

    # Answers -------------------------------------------------------------------------------------------------------

    def serve(self, request: Request) -> ReplyBody | Operation[ReplyBody] | None:
        """Answer one request; None: somebody else does. Raises a RingcastError, which is sent instead."""
        body = request.body
        handler = self.handlers.get(type(body))
        if handler is None:
            raise RemoteProtocolError(f"a ring member takes no {type(body).__name__}")
        if not self.active and type(body) is not Ping:
            raise Busy(f"{self.me} is still joining")
        return handler(body)

    def next_hop(self, request: NextHop) -> Hop:
        """Who comes next on the way to the owner of a key, as this member knows the ring."""
        return self._hop_past(request.key, request.avoid) if request.avoid else self.hop_to(request.key)

    def hop_to(self, key: int) -> Hop:
        """The same while nobody is known to be dead: worked out once for each stretch of keys, until others are known.

        It is here that the lookups of a large ring spend their time.
        """
        routes = self._routes or self._ranked()
        stretch = routes.stretch(key)
        hop = routes.hops[stretch]
        if hop is None:
            hop = routes.hops[stretch] = self._hop_past(key, ())
        return hop

    def _ranked(self) -> Routes:
        """All whom this member knows. The predecessor is never named, but there the keys begin that this one owns."""
        state = self._state
        known = [*self.fingers, *state.successors]
        if state.predecessor is not None:
            known.append(state.predecessor)
        self._routes = routes = Routes(self.me, self.settings.space, known)
        return routes

    def _hop_past(self, key: int, dead: tuple[int, ...]) -> Hop:
        """Work the next hop out, past those whose identifiers are `dead`."""
        avoid = frozenset(dead)
        successors = self._state.successors
        if self.owns(key):
            return Hop(self.me, True, (self.me, *successors[: OWNERS_NAMED - 1]))
        if avoid:
            self.fingers.doubt(avoid)
            successors = tuple(pointer for pointer in successors if pointer.id not in avoid)
        successor_id = successors[0].id if successors else self.me.id
        if between_right(self.me.id, key, successor_id) and (successors or self._state.whole):
            named = MAX_NAMED if avoid else OWNERS_NAMED  # where some are dead, more may be
            return Hop(self.me, True, successors[:named] or (self.me,))
        routes = self._routes or self._ranked()
        candidates = routes.preceding(key, HOPS_NAMED + len(avoid))
        if avoid:
            candidates = tuple(pointer for pointer in candidates if pointer.id not in avoid)[:HOPS_NAMED]
        return Hop(self.me, False, candidates or successors[:HOPS_NAMED])

    def neighbours(self) -> Neighbours:
        """This member's own answer to a neighbour query."""
        state = self._state
        lacks_after = None if self.reach.complete else self.reach.joined_after
        return Neighbours(self.me, state.predecessor, state.successors, state.whole, lacks_after)
