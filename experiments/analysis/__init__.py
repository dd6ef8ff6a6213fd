"""What Spark counts in the tables of a run, and what the counts say."""
