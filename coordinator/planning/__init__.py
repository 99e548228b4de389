"""Queries planned, what their periods bring, and at which paces they are worked."""
