"""Expressions over the columns of a row, as PostgreSQL writes them and their values."""
