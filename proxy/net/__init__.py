"""Connections: accepted, logged in, relayed."""
