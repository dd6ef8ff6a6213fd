"""A ring process: its members behind one address, and the operations that go on for as long as it lives."""

from __future__ import annotations

import random
from collections import OrderedDict

from chord import maintenance, replication
from chord.effects import Call, Operation, call, cast, sleep, spawn
from chord.errors import (
    AddressTaken,
    LocalProtocolError,
    LookupFailed,
    NotMember,
    PeerUnreachable,
    RingcastError,
    WrongCluster,
)
from chord.kernel import Kernel
from chord.lookup import Walk, find_owner
from chord.member import Member
from chord.messages import Get, GetNeighbours, Meet, Neighbours, NextHop, Ping, Pointer, Put, ReplyBody, Request
from chord.settings import Settings

LOST_KEPT = 256
LOST_FOR_S = 600.0
JOIN_PAUSE_S = 0.1
TAKEN_FOR_S = 5.0
"""How long somebody else may answer at the address of a process that starts: it may be the one that it replaces."""

WALK_AT_MOST = 100_000


class Host:
    """Runs `vnodes` members behind one advertised address (host:port)."""

    def __init__(self, settings: Settings, address: str, vnodes: int, rng: random.Random) -> None:
        self.settings = settings
        self.kernel = Kernel(settings.cluster, address, rng, self.serve)
        self._lost: OrderedDict[Pointer, float] = OrderedDict()
        self._bootstrap: list[str] = []
        self.members: list[Member] = []
        self._by_id: dict[int, Member] = {}
        for index in range(vnodes):
            identifier = settings.space.member(settings.cluster, address, index)
            if identifier in self._by_id:
                continue  # two virtual nodes of one process collide: one is as good
            self._add(Pointer(identifier, address, self._incarnation()))

    def _incarnation(self) -> int:
        return self.kernel.rng.getrandbits(48) + 1

    def _add(self, me: Pointer) -> Member:
        member = Member(self.kernel, self.settings, me, self._note_lost)
        replication.install(member)
        member.start_stabilizing = lambda: self.kernel.start(maintenance.stabilize(member))
        member.start_repairing = lambda: self.kernel.start(replication.repair(member))
        member.start_rectifying = lambda: self.kernel.start(maintenance.rectify(member))
        self.members.append(member)
        self._by_id[me.id] = member
        return member

    # Requests ------------------------------------------------------------------------------------------------------

    def serve(self, request: Request) -> ReplyBody | Operation[ReplyBody]:
        """Answer a request in the name of the member it is meant for."""
        to = request.to
        if to is None:
            return self._fitting(request).serve(request)
        member = self._by_id.get(to[0])
        if member is None or member.me.incarnation != to[1]:
            raise NotMember(f"{self.kernel.address} hosts no member {to[0]:016x} of incarnation {to[1]}")
        return member.serve(request)

    def _fitting(self, request: Request) -> Member:
        members = self.members
        if len(members) == 1:
            return members[0]
        body = request.body
        if isinstance(body, NextHop):
            space = self.settings.space
            return min(members, key=lambda member: space.distance(member.me.id, body.key) or space.size)
        if isinstance(body, Put | Get):
            key = self.settings.space.key(body.name)
            return next((member for member in members if member.owns(key)), members[0])
        return members[0]

    # Life ----------------------------------------------------------------------------------------------------------

    def boot(self, bootstrap: list[str], patience_s: float) -> Operation[None]:
        """Bring every member into the ring, or start a new ring when there is nobody to join.

        Ends when the predecessor of each member has adopted it. Raises LookupFailed after `patience_s`,
        LocalProtocolError when an identifier is taken, WrongCluster when the bootstrap nodes belong to another cluster.
        """
        self._bootstrap = [address for address in bootstrap if address != self.kernel.address]
        deadline = self.kernel.now + patience_s
        for position, member in enumerate(self.members):
            contacts = [contact(address) for address in self._bootstrap]
            if position:
                contacts.append(self.members[0].me)
            if contacts:
                yield from self._bring_in(member, contacts, deadline)
            else:
                member.active = member.adopted = True
            yield from self._keep(member)
        yield from spawn(self._heal_for_ever())
        while not all(member.adopted or member.state.alone for member in self.members):
            if self.kernel.now > deadline:
                raise LookupFailed(f"{self.kernel.address} joined, but no predecessor adopted it in {patience_s:.0f} s")
            yield from sleep(JOIN_PAUSE_S / 5)

    def require_address(self) -> Operation[None]:
        """Ask for this process at its own address, by way of the network. Raises AddressTaken if another one answers.

        One that cannot reach itself there may still be reached by others.
        """
        me = self.members[0].me
        deadline = self.kernel.now + TAKEN_FOR_S
        while True:
            try:
                yield Call(me, Ping(), outward=True)
            except PeerUnreachable:
                return
            except RingcastError as error:
                if self.kernel.now > deadline:
                    raise AddressTaken(
                        f"{me.address} is taken by a living node, which answers there: {error}; stop it, or advertise "
                        "another address"
                    ) from None
            else:
                return
            yield from sleep(JOIN_PAUSE_S)

    def _bring_in(self, member: Member, contacts: list[Pointer], deadline: float) -> Operation[None]:
        while True:
            try:
                yield from maintenance.join(member, contacts)
                break
            except LocalProtocolError:
                raise
            except WrongCluster as error:
                raise WrongCluster(f"{self.kernel.address} could not join through {_row(contacts)}: {error}") from error
            except RingcastError as error:
                if self.kernel.now > deadline:
                    raise LookupFailed(
                        f"{self.kernel.address} could not join through {_row(contacts)}: {error}"
                    ) from error
            yield from sleep(JOIN_PAUSE_S * self.kernel.rng.uniform(0.5, 1.5))
        yield from spawn(self._settle(member))

    def _settle(self, member: Member) -> Operation[None]:
        yield from maintenance.enter(member)
        yield from replication.take_over(member)

    def _keep(self, member: Member) -> Operation[None]:
        yield from spawn(self._stabilize_for_ever(member))
        yield from spawn(self._fix_fingers_for_ever(member))
        yield from spawn(self._repair_for_ever(member))

    def _stabilize_for_ever(self, member: Member) -> Operation[None]:
        changed = True
        while not member.leaving:
            # News of a change travels one member a stabilization, so a member that has some does not wait for long.
            pause_s = self.settings.stabilize_s / (4 if changed else 1)
            yield from sleep(pause_s * self.kernel.rng.uniform(0.75, 1.0))
            before = member.state
            yield from maintenance.stabilize(member)
            changed = member.state != before
            yield from maintenance.watch_predecessor(member)
            if member.active and member.state.isolated:
                yield from self._rejoin(member, self._known(member))

    def _fix_fingers_for_ever(self, member: Member) -> Operation[None]:
        while not member.leaving:
            try:
                more = yield from maintenance.fix_finger(member)
            except RingcastError:
                more = False
            if not more:
                yield from sleep(self.settings.fingers_s * self.kernel.rng.uniform(0.2, 1.0))
                member.fingers.new_round()
            yield from sleep(self.settings.stabilize_s / 8)

    def _repair_for_ever(self, member: Member) -> Operation[None]:
        while not member.leaving:
            yield from sleep(self.settings.repair_s * self.kernel.rng.uniform(0.5, 1.0))
            replication.lapse(member)
            yield from replication.repair(member)

    def leave(self) -> Operation[None]:
        """Hand every record over and tell the neighbours; ends when the process may go."""
        known = [pointer for member in self.members for pointer in member.state.successors]
        for member in self.members:
            if member.active:
                yield from replication.hand_over(member, known)

    def walk(self) -> Operation[list[Neighbours]]:
        """The members of the ring in order from the first of this process, each with its own view."""
        return (yield from ring_walk(self.members[0].me))

    # Healing -------------------------------------------------------------------------------------------------------

    def _note_lost(self, peer: Pointer) -> None:
        if peer.address == self.kernel.address:
            return
        self._lost[peer] = self.kernel.now
        self._lost.move_to_end(peer)
        if len(self._lost) > LOST_KEPT:
            self._lost.popitem(last=False)

    def _known(self, member: Member) -> list[Pointer]:
        """Everybody this member might still reach, by address."""
        pointers = [*member.state.successors, *member.fingers]
        if member.state.predecessor is not None:
            pointers.append(member.state.predecessor)
        addresses = dict.fromkeys([p.address for p in (*pointers, *self._lost)] + self._bootstrap)
        addresses.pop(self.kernel.address, None)
        return [contact(address) for address in addresses]

    def _heal_for_ever(self) -> Operation[None]:
        """Look for another ring behind peers that were lost. The one whose first member is higher moves to the other.

        A ring that is changing may look like two, so another ring has to be seen twice, through the same peer and with
        the same first members.
        """
        suspected: tuple[Member, Pointer] | None = None
        seen: tuple[Pointer, Pointer] | None = None
        while not all(member.leaving for member in self.members):
            yield from sleep(self.settings.heal_s * self.kernel.rng.uniform(0.5, 1.0))
            self._forget_long_lost()
            member, other = suspected or self._whom_to_probe()
            suspected = None
            if other is None or not member.active:
                continue
            try:
                firsts = yield from self._two_rings(member, other)
            except RingcastError:
                continue
            if firsts is None:
                continue
            if firsts != seen:
                suspected = member, other
                seen = firsts
                continue
            seen = None
            ours, theirs = firsts
            if ours.id < theirs.id:
                yield from cast(theirs, Meet(member.me))
            else:
                yield from self._move(ours, [other, theirs])

    def _whom_to_probe(self) -> tuple[Member, Pointer | None]:
        """A member, one that is alone more often, and a peer that it might be split from."""
        rng = self.kernel.rng
        alone = [member for member in self.members if member.state.alone]
        member = rng.choice(alone if alone and rng.random() < 0.5 else self.members)
        candidates = [*self._lost, *(contact(address) for address in self._bootstrap)]
        if member is not self.members[0]:
            candidates.append(self.members[0].me)
        return member, rng.choice(candidates) if candidates else None

    def _two_rings(self, member: Member, other: Pointer) -> Operation[tuple[Pointer, Pointer] | None]:
        """The first members of the ring of `member` and of that of `other`, or None if that is one ring."""
        theirs = yield from self._first_member([other])
        ours = yield from self._first_member([member.me])
        if ours.id == theirs.id:
            self._lost.pop(other, None)
            return None
        found = yield from find_owner(self.kernel, self.settings.space, [other], Walk(ours.id))
        return None if found == ours else (ours, theirs)

    def _move(self, ours: Pointer, contacts: list[Pointer]) -> Operation[None]:
        """Have every member of this process that is in the ring of `ours` join another ring, one by one."""
        for member in self.members:
            if not member.active or member.leaving:
                continue
            try:
                first = yield from self._first_member([member.me])
            except RingcastError:
                continue  # the next probe decides
            if first == ours:
                yield from self._rejoin(member, contacts)

    def _forget_long_lost(self) -> None:
        while self._lost:
            peer, when = next(iter(self._lost.items()))
            if self.kernel.now - when < LOST_FOR_S:
                return
            del self._lost[peer]

    def _first_member(self, via: list[Pointer]) -> Operation[Pointer]:
        """The owner of key 0: what two parts of a split ring differ in."""
        return (yield from find_owner(self.kernel, self.settings.space, via, Walk(0)))

    def _rejoin(self, member: Member, contacts: list[Pointer]) -> Operation[None]:
        """Become a new member under the same identifier: pointers dropped, records kept. Alone when that fails.

        Not for a member that is rejoining already, or leaves.
        """
        if not member.active or member.leaving:
            return
        for pointer in self._known(member):
            self._note_lost(pointer)
        member.event("rejoining")
        member.become(Pointer(member.me.id, member.me.address, self._incarnation()))
        try:
            yield from self._bring_in(member, contacts, self.kernel.now + 5.0)
        except RingcastError as error:
            member.active = member.adopted = member.complete = True
            member.event("rejoin failed", str(error))
            return
        yield from spawn(replication.hand_back(member))


def _row(contacts: list[Pointer]) -> str:
    return ", ".join(pointer.address for pointer in contacts)


def contact(address: str) -> Pointer:
    """A process whose members are not known yet."""
    return Pointer(0, address, 0)


def ring_walk(start: Pointer) -> Operation[list[Neighbours]]:
    """Follow the successors from `start` until the walk comes round, skipping successors that do not answer."""
    views: list[Neighbours] = []
    seen: set[int] = set()
    gone: set[str] = set()
    pending = [start]
    while pending and len(views) < WALK_AT_MOST:
        pointer = pending.pop(0)
        if pointer.address in gone:
            continue
        try:
            view = yield from call(pointer, GetNeighbours(observe=True), Neighbours, attempts=2)
        except RingcastError as error:
            if not views:
                raise
            if isinstance(error, PeerUnreachable):
                gone.add(pointer.address)
            continue
        if view.member.id in seen:
            break
        seen.add(view.member.id)
        views.append(view)
        pending = list(view.successors)
    return views
