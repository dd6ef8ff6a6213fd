"""Bandwidth, delay and loss of links: what the kernel cannot do is refused, never left out."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from chord.errors import LocalProtocolError

MOST_MBIT = 1000.0
"""Beyond this Mininet leaves the limit out."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What every link does to what passes: None is nothing. `bw_mbit` in Mbit/s each way, `delay_ms` each way."""

    bw_mbit: float | None = None
    delay_ms: float | None = None
    loss_percent: float | None = None

    def options(self) -> dict[str, float | str]:
        """As options of Mininet's TCLink; none for a bare link."""
        given: dict[str, float | str] = {}
        if self.bw_mbit is not None:
            given["bw"] = self.bw_mbit
        if self.delay_ms:
            given["delay"] = f"{self.delay_ms:g}ms"
        if self.loss_percent:
            given["loss"] = self.loss_percent
        return given

    def disciplines(self) -> set[str]:
        """The kernel's queueing disciplines that it takes."""
        return ({"htb"} if self.bw_mbit else set()) | ({"netem"} if self.delay_ms or self.loss_percent else set())


def check_shape(shape: Shape) -> None:
    """Raises LocalProtocolError for numbers that are none, before anything is tried."""
    if shape.bw_mbit is not None and not 0 < shape.bw_mbit <= MOST_MBIT:
        raise LocalProtocolError(f"--bw is above 0 and at most {MOST_MBIT:g} Mbit/s, not {shape.bw_mbit:g}")
    if shape.delay_ms is not None and not 0 <= shape.delay_ms <= 10_000:
        raise LocalProtocolError(f"--delay is 0 to 10000 ms, not {shape.delay_ms:g}")
    if shape.loss_percent is not None and not 0 <= shape.loss_percent < 100:
        raise LocalProtocolError(f"--loss is 0 to less than 100 %, not {shape.loss_percent:g}")


def check_kernel(shape: Shape) -> None:
    """Try each option on the loopback device of a network namespace that is made for it and goes with it.

    Raises LocalProtocolError for the first that the kernel cannot do.
    """
    tried = [
        (shape.bw_mbit, "--bw", "htb", "htb default 1"),
        (shape.delay_ms, "--delay", "netem", "netem delay 1ms"),
        (shape.loss_percent, "--loss", "netem", "netem loss 1%"),
    ]
    for value, option, discipline, words in tried:
        if not value:
            continue
        command = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", *words.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()[0]
            raise LocalProtocolError(
                f"{option} needs the queueing discipline {discipline}, which this kernel has not ({said}); "
                f"leave {option} out, or use a kernel with CONFIG_NET_SCH_{discipline.upper()}"
            )
