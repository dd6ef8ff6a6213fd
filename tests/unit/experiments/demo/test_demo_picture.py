"""The demo's picture fits the terminal that it is drawn on."""

from __future__ import annotations

import pytest
from rich.console import Console

from experiments.demo.picture import Rate, Seat, picture

RATES = [
    *(
        Rate(f"subscriber {airport} {number}", 111_279, 10_987.4)
        for airport in ("EWR", "JFK", "LGA")
        for number in (1, 2)
    ),
    Rate("lookups", 4_000, 100.0),
    *(Rate(f"publisher {airport}", 111_279, 10_987.4) for airport in ("EWR", "JFK", "LGA")),
]
PHASE = "kill -9 of 127.0.0.1:35841, owner of flights.EWR, flights.JFK, flights.LGA, and some more words"


def seats() -> list[Seat]:
    """Sixteen nodes, two next to each other with names."""
    ring = [Seat(f"127.0.0.1:{number}", number * 2**60) for number in range(16)]
    ring[4].topics = ["flights.EWR", "flights.JFK", "flights.LGA"]
    ring[8].topics = ["flights.LGA"]
    ring[8].killed = True
    ring.append(Seat("127.0.0.1:99", ring[8].identifier - 1))
    return ring


def lines(width: int, height: int) -> list[str]:
    """What appears on a terminal of that size."""
    console = Console(width=width, height=height, force_terminal=True, color_system=None)
    with console.capture() as shown:
        console.print(picture(console, PHASE, seats(), RATES))
    return [line.rstrip() for line in shown.get().splitlines()]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (79, 24), (60, 24), (80, 18), (40, 16)])
def test_picture_fits(width: int, height: int) -> None:
    """A line is left for the cursor, and two columns for what a terminal echoes of Ctrl-C."""
    shown = lines(width, height)

    assert len(shown) < height
    assert max(map(len, shown[1:])) <= width - 2
    assert any("publisher LGA" in line and "111,279" in line for line in shown)


def test_picture_shows_the_ring_in_80_columns() -> None:
    """Beside the rates, with the topics that a node owns, which no other node writes over."""
    shown = "\n".join(lines(80, 24))

    assert "17 ring nodes" in shown
    assert "o EWR JFK LGA" in shown
    assert "x LGA" in shown


def test_picture_leaves_the_ring_out_of_a_small_terminal() -> None:
    """The rates alone fit 60 columns."""
    assert "ring nodes" not in "\n".join(lines(60, 24))
