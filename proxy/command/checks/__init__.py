"""What `gavial doctor` looks at."""
