"""Files of changes: written once, merged, removed."""
