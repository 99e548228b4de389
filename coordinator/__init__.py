"""When things happen, and what becomes public."""
