"""Runs, benchmarks and the Spark analysis of the traces they leave."""
