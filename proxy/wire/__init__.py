"""What passes between a client and PostgreSQL: bytes in, bytes out, without I/O."""
