"""Queries from their plans to published results."""
