"""What a query means: plans, and what holds of them."""
