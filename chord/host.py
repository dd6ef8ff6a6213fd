"""A ring process: its members behind one address, and the operations that go on for as long as it lives."""

from __future__ import annotations

import random

from chord import arc_requests, handover, joining, maintenance, record_requests, recursion, ring_requests
from chord.effects import Call, Operation, sleep, spawn
from chord.errors import (
    AddressTaken,
    LocalProtocolError,
    LookupFailed,
    NotMember,
    PeerUnreachable,
    RingcastError,
    WrongCluster,
)
from chord.healing import Healing
from chord.kernel import Kernel
from chord.limits import MAX_VNODES
from chord.lost import LostPeers
from chord.member import Member
from chord.messages import Forward, Get, Neighbours, NextHop, Ping, Pointer, Put, ReplyBody, Request, contact
from chord.repair import repair
from chord.settings import Settings
from chord.strays import Strays
from chord.takers import ask_around
from chord.upkeep import keep
from chord.views import ring_walk

JOIN_PAUSE_S = 0.1
TAKEN_FOR_S = 5.0
"""How long somebody else may answer at the address of a process that starts: it may be the one that it replaces."""

REJOIN_PATIENCE_S = 5.0
REJOINED_WITHIN_S = 2.0
"""How long a process that leaves waits for its members that are joining anew."""


class Host:
    """Runs `vnodes` members behind one advertised address (host:port)."""

    def __init__(self, settings: Settings, address: str, vnodes: int, rng: random.Random) -> None:
        self.settings = settings
        self.kernel = Kernel(settings.cluster, address, rng, self.serve)
        self.lost = LostPeers(address)
        self.members: list[Member] = []
        self.healing = Healing(self.kernel, settings, self.members, self.lost, self.rejoin)
        self.strays = Strays(self.members)
        self._by_id: dict[int, Member] = {}
        self.kernel.stood_still = self._doubt
        if not 1 <= vnodes <= MAX_VNODES:
            raise LocalProtocolError(f"a process has 1 to {MAX_VNODES} virtual nodes, not {vnodes}")
        for index in range(vnodes):
            identifier = settings.space.member(settings.cluster, address, index)
            if identifier in self._by_id:
                continue  # two virtual nodes of one process collide: one is as good
            self._add(Pointer(identifier, address, self._incarnation()))

    def _incarnation(self) -> int:
        return self.kernel.rng.getrandbits(48) + 1

    def _add(self, me: Pointer) -> None:
        member = Member(self.kernel, self.settings, me, self._note_lost, self.members)
        ring_requests.install(member)
        record_requests.install(member)
        arc_requests.install(member)
        recursion.install(member)
        member.start_stabilizing = lambda: self.kernel.start(maintenance.stabilize_now(member))
        member.start_repairing = lambda: self.kernel.start(repair(member))
        member.start_yielding = lambda low, sender: self.kernel.start(handover.yield_arc(member, low, sender))
        member.start_asking_around = lambda low, joiner: self.kernel.start(ask_around(member, low, joiner))
        member.start_meeting = lambda peer: self.kernel.start(self.healing.meet(member, peer))
        member.start_rectifying = lambda: self.kernel.start(maintenance.rectify(member))
        self.members.append(member)
        self._by_id[me.id] = member

    def _doubt(self) -> None:
        """This process has stood still, and others may have taken it for dead: what it owned, others may own, or have.

        Until its members have asked around, they answer for nothing without asking.
        """
        for member in self.members:
            if member.active and not member.state.alone:
                member.reach.doubt(self.kernel.now)
                member.start_repairing()

    # Requests ------------------------------------------------------------------------------------------------------

    def serve(self, request: Request) -> ReplyBody | Operation[ReplyBody] | None:
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
        if isinstance(body, NextHop | Forward):
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
        self.lost.bootstrap = [address for address in bootstrap if address != self.kernel.address]
        deadline = self.kernel.now + patience_s
        for position, member in enumerate(self.members):
            contacts = [contact(address) for address in self.lost.bootstrap]
            if position:
                contacts.append(self.members[0].me)
            if contacts:
                yield from self._bring_in(member, contacts, deadline)
            else:
                member.active = member.attached = member.adopted = True
            yield from self.keep(member)
        yield from self.tend()
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
                yield from joining.join(member, contacts)
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

    def keep(self, member: Member) -> Operation[None]:
        """Start what goes on at a member for as long as it lives."""
        yield from keep(member, lambda: self.rejoin(member, self._known(member)))

    def tend(self) -> Operation[None]:
        """Start what goes on, once for all members, for as long as the process lives."""
        yield from spawn(self.healing.for_ever())
        yield from spawn(self.strays.for_ever())

    def _settle(self, member: Member) -> Operation[None]:
        yield from joining.enter(member)
        yield from handover.take_over(member)

    def leave(self) -> Operation[str]:
        """Hand every record over and tell the neighbours; ends when the process may go.

        Returns what became of records that nobody took; nothing when there are none.
        """
        until = self.kernel.now + REJOINED_WITHIN_S
        while any(member.rejoining for member in self.members) and self.kernel.now < until:
            yield from sleep(JOIN_PAUSE_S)  # it has records, and nobody yet to give them to
        known = [pointer for member in self.members for pointer in member.state.successors]
        for member in self.members:
            member.leaving = True  # what one takes while another hands over, with nobody left to copy it to, goes too
        lost = ""
        for member in self.members:
            if member.active:
                lost = (yield from handover.hand_over(member, known)) or lost
            elif member.rejoining:
                lost = "it was about to join anew, and gave its records to nobody"
        return lost

    def walk(self) -> Operation[list[Neighbours]]:
        """The members of the ring in order from the first of this process, each with its own view."""
        return (yield from ring_walk(self.members[0].me))

    # Whom to join through ------------------------------------------------------------------------------------------

    def rejoin(self, member: Member, contacts: list[Pointer]) -> Operation[None]:
        """Become a new member under the same identifier: pointers dropped, records kept. Alone when that fails.

        Not for a member that is rejoining already, or leaves.
        """
        if not member.active or member.leaving:
            return
        for pointer in self._known(member):
            self._note_lost(pointer)
        member.event("rejoining")
        low, high = member.arc()
        length = self.settings.space.arc_length
        low = max(low, member.reach.answered_after(), key=lambda after: length(after, high))
        member.become(Pointer(member.me.id, member.me.address, self._incarnation()))
        member.rejoining = True
        try:
            yield from self._bring_in(member, contacts, self.kernel.now + REJOIN_PATIENCE_S)
        except RingcastError as error:
            member.active = member.attached = member.adopted = member.reach.complete = True
            member.rejoining = False
            member.event("rejoin failed", str(error))
            return
        member.rejoining = False
        yield from spawn(handover.hand_back(member, low, high))

    def _known(self, member: Member) -> list[Pointer]:
        """Everybody this member might still reach, by address."""
        pointers = [*member.state.successors, *member.fingers]
        if member.state.predecessor is not None:
            pointers.append(member.state.predecessor)
        addresses = dict.fromkeys(pointer.address for pointer in (*pointers, *self.lost))
        addresses.pop(self.kernel.address, None)
        return [contact(address) for address in addresses]

    def _note_lost(self, peer: Pointer) -> None:
        self.lost.add(peer, self.kernel.now)


def _row(contacts: list[Pointer]) -> str:
    return ", ".join(pointer.address for pointer in contacts)
