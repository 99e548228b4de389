"""Statements of ours."""
