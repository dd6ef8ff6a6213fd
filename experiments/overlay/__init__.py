"""A ring as a graph: snapshots of real and simulated rings, and what can be said of them."""
