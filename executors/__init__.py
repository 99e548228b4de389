"""Schedule and changes to results."""
