"""Dependent joins to joins."""
