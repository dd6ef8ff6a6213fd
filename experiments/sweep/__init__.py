"""`python -m experiments sweep`: the same work on rings of several sizes, and with several numbers of clients."""
