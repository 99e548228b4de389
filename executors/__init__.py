"""Engines that compute what the planner has planned: one contract, and a folder for each."""
