"""Tests of what goes end to end."""
