"""The executor in plain Python: the definition of every operator, obvious and slow."""
