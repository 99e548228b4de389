-- 0A000 is also what PostgreSQL raises for values, such as NaN as an integer.
ALTER TABLE gavial.queries ADD COLUMN status_of_values boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN gavial.queries.status_of_values IS
    'whether it is in error 0A000 for values, which newer ones may mend; else for what it reads';
