"""Scenarios: what happens to a ring told in a few words a line, and what becomes of it.

A file is blocks of commands, each followed by `----` and what is expected then, up to an empty line. `#` begins a
comment. Numbers are identifiers:

    lists 2                  entries of a successor list; 2 unless said, and before `ring` only
    ring 6 12                an ideal ring
    10 joins via 6           begins to join, and no more: it is stabilization that makes it known
    10 enters via 6          begins to join and to make itself known, as `dht join` does
    6 stabilizes             begins to stabilize
    6 rectifies              begins to ping its predecessor
    10 leaves                begins to leave
    10 fails                 stops without a word
    6 hears 10               the oldest message from 10 arrives at 6
    6 hears 10 Notify        the oldest of that kind; `Notify #2` the one after it; `Notify again` comes once more later
    6 gives up 10            a call to 10, which failed, times out
    6 wakes                  a pause ends; `6 wakes #2` the second one
    10 finishes              what concerns 10 goes on until nothing does, the oldest message first
    all finish               everything does
    rounds                   every member stabilizes, as often as it takes until the ring is ideal

What must hold of a ring at every moment is checked after every line, and at the end the ring has to be ideal.
docs/scenarios.md says it with an example.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chord.amounts import counted
from chord.errors import LocalProtocolError
from chord.member import Member
from chord.settings import Settings
from sim.by_hand import BITS, NumberedSpace
from sim.stepwise import Ring, kind

RULE = "----"
COMMENT = re.compile(r"(^|\s)#(\s.*|$)")


class ScenarioError(Exception):
    """A line that cannot be carried out."""


class NoCommand(ScenarioError):
    """A line that is no command of a scenario, whatever the ring is like."""


class RingBroken(Exception):
    """After a line something holds that must never hold."""


@dataclass(frozen=True, slots=True)
class Block:
    """Commands, with the lines they stand in counted from 1, and what is expected after them."""

    commands: tuple[tuple[int, str], ...]
    expected: tuple[str, ...]


def parse(text: str) -> list[Block]:
    """The blocks of a scenario file."""
    blocks: list[Block] = []
    commands: list[tuple[int, str]] = []
    expected: list[str] | None = None
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        line = COMMENT.sub("", raw).strip()
        if line == RULE and expected is None:
            expected = []
        elif expected is None:
            if line:
                commands.append((number, line))
        elif line:
            expected.append(line)
        else:
            blocks.append(Block(tuple(commands), tuple(expected)))
            commands, expected = [], None
    if commands:
        blocks.append(Block(tuple(commands), ()))
    return blocks


class Scenario:
    """Carries commands out on a ring. `log` holds those that were carried out."""

    def __init__(self) -> None:
        self.ring = Ring(_settings(2, 1))
        self.log: list[str] = []
        self._rounds: list[str] = []

    def do(self, command: str) -> None:
        """Carry one command out. Raises ScenarioError if it cannot be, RingBroken if that broke the ring."""
        self.log.append(command)
        self._rounds = []
        try:
            self._do(command.split())
        except (KeyError, IndexError, ValueError, LocalProtocolError) as error:
            raise ScenarioError(f"{command!r} cannot be carried out: {error}") from error
        if self.ring.ideal():
            self.ring.rest()
        wrong = self.ring.wrong()
        if wrong:
            raise RingBroken("; ".join(wrong))

    def _do(self, words: Sequence[str]) -> None:
        ring = self.ring
        match words:
            case ["lists", length]:
                self.ring = Ring(_settings(int(length), 1))
            case ["ring", *addresses]:
                ring.begin(addresses)
            case [address, "joins" | "enters" as how, "via", *via]:
                ring.join(address, via, enters=how == "enters")
            case [address, "stabilizes"]:
                ring.stabilize(address)
            case [address, "rectifies"]:
                ring.rectify(address)
            case [address, "leaves"]:
                ring.begin_leaving(address)
            case [address, "fails"]:
                ring.fail(address)
            case [receiver, "hears", sender, *which]:
                ring.deliver(self._message(receiver, sender, which), again="again" in which)
            case [address, "gives", "up", other, *which]:
                calls = [call for call, asked in ring.processes[address].waiting() if asked == other]
                ring.time_out(address, calls[_turn(which)])
            case [address, "wakes", *which]:
                ring.wake(address, _turn(which))
            case ["all", "finish"]:
                ring.run()
            case [address, "finishes"]:
                ring.run(lambda one: one == address)
            case ["rounds"]:
                rounds, faults = ring.heal()
                if rounds is None:
                    raise RingBroken("; ".join(["the ring does not become ideal", *faults]))
                self._rounds.append(f"ideal after {counted(rounds, 'round')}")
            case _:
                raise NoCommand(f"{' '.join(words)!r} cannot be carried out: no such command")

    def _message(self, receiver: str, sender: str, which: Sequence[str]) -> int:
        """The place of a message on its way."""
        meant = next((word for word in which if word != "again" and not word.startswith("#")), None)
        found = [
            place
            for place, message in enumerate(self.ring.flight)
            if (message.receiver, message.sender) == (receiver, sender) and meant in (None, kind(message))
        ]
        if _turn(which) >= len(found):
            raise ValueError(f"on the way are {' '.join(self.on_the_way()) or 'no messages'}")
        return found[_turn(which)]

    def shown(self) -> list[str]:
        """The ring as it is: what a block's expectation is compared with."""
        lines = [_view(member) for member in sorted(self.ring.members(), key=lambda member: member.me.id)]
        way = self.on_the_way()
        return [*self._rounds, *lines, *([f"on the way: {', '.join(way)}"] if way else [])]

    def on_the_way(self) -> list[str]:
        """The messages on their way, the oldest first."""
        return [f"{message.sender}->{message.receiver} {kind(message)}" for message in self.ring.flight]


def rewritten(text: str) -> tuple[str, str]:
    """The same scenario with the expectations replaced by what was seen; and what went wrong, or nothing."""
    scenario = Scenario()
    lines = text.splitlines()
    result: list[str] = []
    done = 0
    problem = ""
    for block in parse(text):
        last = block.commands[-1][0] if block.commands else done
        for number, command in block.commands:
            try:
                if not problem:
                    scenario.do(command)
            except (ScenarioError, RingBroken, AssertionError) as error:
                problem = f"line {number}: {command}: {error}"
        result += [*lines[done:last], RULE, *scenario.shown(), ""]
        done = last
        if done < len(lines) and lines[done].strip() == RULE:
            done += 1 + len(block.expected) + 1
    if not problem and not scenario.ring.ideal():
        problem = "the ring is not ideal at the end; `rounds` lets it become that"
    return "\n".join(result).rstrip("\n") + "\n", problem


def _settings(length: int, others: int) -> Settings:
    return Settings(successors=length, failures=others - 1, space=NumberedSpace(BITS))


def _turn(which: Sequence[str]) -> int:
    """`#2` means the second one."""
    return next((int(word[1:]) - 1 for word in which if re.fullmatch(r"#\d+", word)), 0)


def _view(member: Member) -> str:
    state = member.state
    if not member.active:
        return f"{member.me.id}: joining"
    listed = " ".join(str(pointer.id) for pointer in state.successors) or "nobody"
    before = "nobody" if state.predecessor is None else str(state.predecessor.id)
    return f"{member.me.id}: {listed}{' (all)' if state.whole else ''}, after {before}"
