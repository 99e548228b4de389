"""Published results under changes, kills and time."""
