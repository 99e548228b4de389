"""Messages of the protocol, and sessions made of them."""
