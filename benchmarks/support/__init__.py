"""What benchmarks share: measuring, its surroundings, and reports."""
