"""Statements for the binder, and what PostgreSQL makes of them."""
