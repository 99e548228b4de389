"""PostgreSQL's canonical text of a view to a query in which every name and type is settled."""
