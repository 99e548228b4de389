"""How commands show what they found, and what went wrong."""
