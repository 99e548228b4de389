"""Text to statements."""
