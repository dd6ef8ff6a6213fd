"""The report: one HTML page of some runs, with the same figures as PNG and CSV."""
