"""Standing queries and their runs, as the schema `gavial` keeps them."""
