"""Captured databases, and rows on their way into the warehouse."""
