"""Plans to those that are cheapest to maintain."""
