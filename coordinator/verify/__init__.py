"""VERIFY: a result against PostgreSQL's own, or against one that is computed from scratch."""
