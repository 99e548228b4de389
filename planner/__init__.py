"""Bound query to schedule; pure."""
