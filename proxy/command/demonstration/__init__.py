"""What `gavial demo` shows: TPC-H, standing queries over it, and its changes."""
