"""What paces save in a period: parts of the program `benchmarks/inqp.py`."""
