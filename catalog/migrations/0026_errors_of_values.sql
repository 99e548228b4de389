-- It is set for every error that values cause, whatever its state; only of 0A000 did the state not say so.
COMMENT ON COLUMN gavial.queries.status_of_values IS
    'whether values of rows have put it in error, which newer ones may mend; else it is what it reads, or something outside';
