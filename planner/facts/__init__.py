"""What holds of a plan's rows, and how many there are."""
