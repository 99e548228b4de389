"""Tests of the dialect."""
