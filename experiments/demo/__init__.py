"""The demo: real departures over a real ring, a ring node killed on the way, and what Spark counts of it."""
