"""Runs that grow, by window: spool files are tailed, their rows land as Parquet, and a stream of Spark counts them."""
