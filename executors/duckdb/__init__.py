"""DuckDB in this process as an executor of small firings."""
