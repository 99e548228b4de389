"""Expressions as SQL of Spark."""
