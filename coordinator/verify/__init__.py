"""VERIFY: a result against PostgreSQL's own."""
