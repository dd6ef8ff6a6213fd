"""Checks of the source: what a core may touch, operations that nobody runs, house rules, and what it loads."""
