"""Programs, in other languages too, that tests run against PostgreSQL and against Gavial."""
