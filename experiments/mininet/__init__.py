"""`python -m experiments mininet`: rings, brokers and clients on the hosts of a virtual network."""
