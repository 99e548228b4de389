"""Tests of Spark."""
