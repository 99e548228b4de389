"""Launcher of the installed wheel."""
