"""The gate between a sleeping application and its I/O thread."""

from __future__ import annotations

import threading

from pubsub.gate import Gate

DEADLINE_S = 20.0


class Slow:
    """The lock of a gate at the moment that a second waker is quicker than the first."""

    def __init__(self, lock):
        self._lock = lock
        self.acquire = lock.acquire

    def locked(self):
        """The first waker looks, then the second opens."""
        answer = self._lock.locked()
        self._lock.release()
        return answer

    def release(self):
        """The first waker opens."""
        if self._lock.locked():
            self._lock.release()
        self._lock.release()


def test_two_threads_may_open_a_gate_at_once():
    """The I/O thread that brings something, and a thread that closes the client."""
    gate = Gate()
    gate._lock = Slow(gate._lock)
    gate.prepare()

    gate.open()

    gate.wait(DEADLINE_S)
    assert not gate.expected


def test_a_gate_that_nobody_waits_at_stays_shut():
    """Whoever comes to it later sleeps."""
    gate = Gate()
    gate.open()

    gate.prepare()
    gate.wait(0.0)
    assert gate._lock.locked()


def test_whoever_sleeps_is_woken():
    """By another thread, for ever waiting or not."""
    gate = Gate()
    gate.prepare()
    woken = threading.Event()

    def sleep():
        gate.wait(-1.0)
        woken.set()

    thread = threading.Thread(target=sleep, daemon=True)
    thread.start()
    gate.open()

    assert woken.wait(DEADLINE_S)
    thread.join()
