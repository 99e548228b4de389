"""Bound queries to plans."""
