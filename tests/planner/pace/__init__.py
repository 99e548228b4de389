"""Tests of paces."""
