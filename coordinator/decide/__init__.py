"""What the coordinator does next: pure functions of what is known."""
