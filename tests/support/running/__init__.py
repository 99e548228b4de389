"""Real servers, the processes of their machine, and clients of them."""
