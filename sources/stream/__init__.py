"""The changes of a database as it sends them, in whole transactions."""
