"""`python -m experiments`."""

from experiments.cli import main

main()
