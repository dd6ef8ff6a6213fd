"""The figures of the Chord papers, run anew: `python -m sim paper`.

A figure is a list of cells, each a small run of its own with a seed; what they measure is kept, so that a set that was
stopped goes on where it was. `sim.paper.figures` lists them all.
"""
