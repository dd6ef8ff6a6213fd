"""`python -m sim`: rings in virtual time, from a seed."""

from __future__ import annotations

from sim.cli_app import app

if __name__ == "__main__":
    app(prog_name="python -m sim")
