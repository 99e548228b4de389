"""The executor on Apache Spark."""
