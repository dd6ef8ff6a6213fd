"""A Chord ring of discovery nodes: the pure protocol core, and the ZeroMQ drivers around it."""
