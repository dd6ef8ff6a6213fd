"""Brokers and the `ringcast` command line."""
