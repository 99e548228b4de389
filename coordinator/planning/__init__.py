"""Plans queries, and estimates their periods."""
