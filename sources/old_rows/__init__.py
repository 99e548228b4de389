"""Looks up old rows that changes leave out, in a copy of the table by key."""
