"""The cost model: how many rows runs of a subplan deal with, and what that takes."""
