"""Host names of peers, resolved apart from ZeroMQ, which would do it in the one thread that moves every message.

A name that nobody can resolve costs its caller 50 ms now and then, and nobody else anything.
"""

from __future__ import annotations

import ipaddress
import socket as dns
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

WAIT_S = 0.05
"""How long a caller waits for a name; what takes longer is known when it is asked for again."""

KNOWN_FOR_S = 30.0
NAMES_KEPT = 1_024
ASKING_AT_ONCE = 16


class _Name:
    """What is known of one name: its IP addresses, none when it has none or the answer is due."""

    def __init__(self) -> None:
        self.numbers: list[str] = []
        self.turn = 0
        self.answered = threading.Event()
        self.asked_at = time.monotonic()


class Names:
    """The IP addresses of host names, asked for in threads of their own."""

    def __init__(self, resolve: Callable[[str], list[str]]) -> None:
        self._resolve = resolve
        self._names: OrderedDict[str, _Name] = OrderedDict()
        self._asking = threading.BoundedSemaphore(ASKING_AT_ONCE)

    def number(self, host: str) -> str | None:
        """An IP address of a host, another one each time if it has several; None when none is known (yet)."""
        try:
            ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            name = self._name(host)
        else:
            return host
        if not name.numbers:
            return None
        number = name.numbers[name.turn % len(name.numbers)]
        name.turn += 1
        return number

    def _name(self, host: str) -> _Name:
        name = self._names.get(host)
        if name is not None and time.monotonic() - name.asked_at < KNOWN_FOR_S:
            return name
        asked = _Name()
        if name is not None:
            asked.numbers = name.numbers  # until there is an answer
        if not self._asking.acquire(blocking=False):
            return asked
        self._names[host] = asked
        self._names.move_to_end(host)
        if len(self._names) > NAMES_KEPT:
            self._names.popitem(last=False)
        threading.Thread(target=self._ask, args=(host, asked), name=f"resolve {host}", daemon=True).start()
        asked.answered.wait(WAIT_S)
        return asked

    def _ask(self, host: str, name: _Name) -> None:
        try:
            name.numbers = self._resolve(host)
        finally:
            self._asking.release()
            name.answered.set()


def _resolve(host: str) -> list[str]:
    """IPv4 first, which is what processes listen on unless they are told otherwise."""
    try:
        found = dns.getaddrinfo(host, None, type=dns.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return sorted({str(address[4][0]) for address in found}, key=lambda number: (":" in number, number))


names = Names(_resolve)
"""Those of this process."""
