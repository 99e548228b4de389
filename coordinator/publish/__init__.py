"""Changes of a result to rows of its table."""
