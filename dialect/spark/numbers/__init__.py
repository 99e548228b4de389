"""Numbers of PostgreSQL in SQL of Spark, to the last digit."""
