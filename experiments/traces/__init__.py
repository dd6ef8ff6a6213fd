"""The directory of a run: run.json, spool files, and the Parquet tables made from them."""
