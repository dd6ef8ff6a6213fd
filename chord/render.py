"""What the `dht` commands draw. Imported only where something is drawn: rich is heavy."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from chord.amounts import counted
from chord.identifiers import hexadecimal
from chord.messages import Neighbours


def ring_table(views: list[Neighbours], consistent: bool) -> None:
    """Print the ring as a table, in ring order."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("identifier", "address", "predecessor", "successors"):
        table.add_column(column, justify="right" if column == "successors" else "left")
    for view in views:
        predecessor = view.predecessor.address if view.predecessor else "-"
        table.add_row(hexadecimal(view.member.id), view.member.address, predecessor, str(len(view.successors)))
    console = Console()
    console.print(table)
    processes = len({view.member.address for view in views})
    state = "all views agree" if consistent else "the views do not agree yet"
    console.print(f"{counted(len(views), 'member')} on {counted(processes, 'process', 'processes')}; {state}")
