"""Old rows that changes do not tell, from the rows of a table by key."""
