"""Writes the changes of a result into its table."""
