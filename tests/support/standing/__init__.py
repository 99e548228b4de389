"""Random standing queries, which show much of every type."""
