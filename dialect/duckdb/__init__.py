"""Expressions as SQL of DuckDB."""
