"""Java found and a Spark session started."""
