"""A deterministic simulator that runs the production protocol code."""
