"""Defects that the ordinary suite has to find, each a patch to production code. `python -m tests.mutants` runs them.

The comment lines at the head of a patch say what is wrong with the mutant, and which tests are run on it first.
"""
