"""Plans: what a query means."""
