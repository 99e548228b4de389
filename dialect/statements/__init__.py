"""Statements of ours: read, checked, written, and what PostgreSQL runs in their place."""
