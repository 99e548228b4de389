"""What capture needs of the server, and its sessions there."""
