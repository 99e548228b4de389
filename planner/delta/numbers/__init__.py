"""Numbers whose digits, or being NaN, depend on all rows of a group."""
