"""What exists: names, types, errors; imports nothing of ours."""
