"""PostgreSQL's values, and what its functions make of them."""
