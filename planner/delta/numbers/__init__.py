"""Numbers whose digits, or NaN, hang on all rows of a group."""
