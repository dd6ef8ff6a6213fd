"""Packets on the wire beside what applications say: captured with tshark, matched sample by sample."""
