"""A cable between a publisher and its subscribers that can be cut: a forwarder of TCP connections."""

from __future__ import annotations

import contextlib
import socket
import threading


class Cable:
    """Listens on `address` and forwards every connection to `target`, until it is cut."""

    def __init__(self):
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.target = None
        self.connections = 0
        self._ends = []
        self._threads = []
        self._begin(self._accept)

    def cut(self):
        """Break every connection that there is; new ones may be made."""
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        """Break everything for ever."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()
        for thread in self._threads:
            thread.join(5.0)

    def _begin(self, target, *arguments):
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            host, port = self.target.rsplit(":", 1)
            far = socket.create_connection((host, int(port)))
            self._ends += [near, far]
            self.connections += 1
            self._begin(self._forward, near, far)
            self._begin(self._forward, far, near)

    def _forward(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()
