"""What is captured, as the schema `gavial` keeps it."""
