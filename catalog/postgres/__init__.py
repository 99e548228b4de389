"""What PostgreSQL has, as values: types, functions, tables."""
