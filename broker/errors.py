"""What can go wrong at a broker beside the errors of the ring and of publish and subscribe."""

from __future__ import annotations

from chord.errors import RingcastError


class ZooKeeperUnreachable(RingcastError):
    """No server of the ensemble answers, or not in time. What was asked of it may have been done."""

    definite = False


class ZooKeeperRefused(RingcastError):
    """ZooKeeper answers, and will not do what it is asked; nothing was changed."""


class DamagedState(RingcastError):
    """What ZooKeeper holds as the state of a zone is not one."""


class StackFailed(RingcastError):
    """The local stack, or a server of it, did not start."""
