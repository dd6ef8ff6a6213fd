"""Whether nobody listens at the address of a primary that fell silent."""

from __future__ import annotations

import socket

from broker.process import refuses


def test_an_address_refuses_when_nobody_listens_any_more() -> None:
    """Whoever only does not answer does not refuse."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"

        assert not refuses(address)

    assert refuses(address)


def test_what_is_no_address_refuses_nothing() -> None:
    """ZooKeeper's state is JSON, which people may have written."""
    assert not refuses("nowhere")
