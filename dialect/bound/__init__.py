"""What the binder makes: queries and expressions with every name and type settled."""
