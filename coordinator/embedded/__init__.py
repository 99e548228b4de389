"""PostgreSQL servers that Gavial runs itself."""
