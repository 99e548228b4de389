"""Drivers and programs of PostgreSQL through Gavial, in other languages too."""
