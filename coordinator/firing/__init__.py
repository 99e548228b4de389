"""One run of a query: its plan, the batches that it needs, its progress."""
