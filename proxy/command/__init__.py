"""The `gavial` command."""
