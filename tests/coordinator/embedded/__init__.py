"""Tests of the PostgreSQL that Gavial runs itself."""
