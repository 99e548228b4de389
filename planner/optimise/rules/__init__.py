"""Rules that keep a plan's meaning, one a file."""
