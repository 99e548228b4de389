"""Tests of expressions as SQL of DuckDB."""
