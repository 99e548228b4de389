"""Expressions on Spark beside PostgreSQL."""
