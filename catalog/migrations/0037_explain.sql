-- What is known of a query as JSON does not depend on the statement that makes it.
DROP FUNCTION IF EXISTS gavial.with_schedule(text, jsonb, jsonb);
