"""Plans to what is done with changes."""
