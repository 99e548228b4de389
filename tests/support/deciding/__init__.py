"""A model of what the coordinator decides about."""
