"""Whether a query can be kept, and what that would cost."""
