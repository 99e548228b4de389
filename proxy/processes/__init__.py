"""Everything that runs."""
