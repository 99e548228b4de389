"""Subplans as SQL of Spark."""
