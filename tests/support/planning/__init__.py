"""Queries for the planner, made or recorded, and plans drawn at random."""
