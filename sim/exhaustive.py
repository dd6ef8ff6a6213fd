"""Walks every order in which the messages of a small ring can arrive, and operations begin, and judges every state.

All that can happen (sim/choices.py) is tried, breadth first, so a schedule that breaks the ring is as short as any.
States that compare equal (sim/standing.py) are walked on from once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from sim.choices import Choice, Choices
from sim.convergence import Convergence
from sim.global_states import GlobalState, GlobalStates
from sim.situations import Situation


@dataclass
class Walked:
    """What a walk saw. `schedule` is a shortest one that ends in what is `wrong`."""

    situation: Situation
    states: int = 0
    transitions: int = 0
    process_states: int = 0
    process_steps: int = 0
    healed: int = 0
    rounds: int = 0
    complete: bool = False
    wrong: list[str] = field(default_factory=list)
    schedule: list[Choice] = field(default_factory=list)


class Walk:
    """One walk through all that can happen in a situation."""

    def __init__(self, situation: Situation) -> None:
        self._walked = Walked(situation)
        self._states = GlobalStates(situation)
        self._choices = Choices(situation, self._states)
        self._convergence = Convergence(situation, self._states, self._choices)

    def run(self, at_most: int) -> Walked:
        """Walk through at most so many states."""
        walked, states = self._walked, self._states
        start = states.packed(states.start())
        came_from: dict[bytes, bytes] = {start: start}
        queue = deque([start])
        while queue and not walked.wrong and len(came_from) < at_most:
            key = queue.popleft()
            here = states.unpacked(key)
            seen = states.views(here[0])
            for choice, following in self._choices.following(here):
                walked.transitions += 1
                reached = states.packed(following)
                if reached in came_from:
                    continue
                came_from[reached] = key
                wrong = self._wrong(following, seen)
                if wrong:
                    walked.wrong = wrong
                    walked.schedule = [*self._schedule(came_from, key), choice]
                    break
                queue.append(reached)
        walked.states = len(came_from)
        walked.complete = not queue and not walked.wrong
        walked.process_states = len(states.automaton.states)
        walked.process_steps = states.automaton.steps
        return walked

    def _wrong(self, state: GlobalState, seen: tuple[int, ...]) -> list[str]:
        """What must not be in a state that was reached from one that showed what was `seen`."""
        processes, left, _, flight = state
        states = self._states
        views = states.views(processes)
        wrong = states.judged(views).wrong
        if not wrong and views != seen:
            wrong = states.demoted(views, left[3])
        if not wrong and not flight and states.at_rest(processes):
            wrong, rounds = self._convergence.wrong(processes)
            self._walked.healed += 1
            self._walked.rounds = max(self._walked.rounds, rounds)
        return wrong

    def _schedule(self, came_from: dict[bytes, bytes], key: bytes) -> list[Choice]:
        """What happened from the start to a state."""
        states = self._states
        schedule: list[Choice] = []
        while (before := came_from[key]) != key:
            following = self._choices.following(states.unpacked(before))
            schedule.append(next(choice for choice, state in following if states.packed(state) == key))
            key = before
        return schedule[::-1]
