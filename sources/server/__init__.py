"""The server's settings that capture needs, and sessions on it."""
