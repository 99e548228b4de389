"""A subplan for one firing."""
