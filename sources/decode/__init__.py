"""Values as PostgreSQL sends them to columns of Arrow."""
