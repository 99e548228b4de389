"""Messages of logical replication, and where values lie in them."""
