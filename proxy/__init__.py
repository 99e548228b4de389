"""Bytes to statements and rows, and back."""
