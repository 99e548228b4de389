"""What commands are told: which server, and values of several kinds."""
