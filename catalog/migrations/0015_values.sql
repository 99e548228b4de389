-- A bpchar whose column does not tell its length keeps the blanks at its end, and infinite dates have a place: what
-- was stored without the one, or stopped at the other, is copied anew.
WITH RECURSIVE unlimited (type) AS (
    SELECT 'bpchar'::regtype::oid
    UNION
    SELECT t.oid FROM unlimited u JOIN pg_type t
        ON (t.typtype = 'd' AND t.typbasetype = u.type)
        OR (t.typcategory = 'A' AND t.typelem = u.type)
)
UPDATE gavial.sources s SET state = 'joining', detail = 'its values are stored in another way; it is copied anew'
WHERE (s.state = 'stopped' AND s.detail LIKE '%cannot be stored%') OR (
    s.state = 'captured' AND EXISTS (
        SELECT FROM pg_attribute a JOIN unlimited u ON u.type = a.atttypid
        WHERE a.attrelid = s.relation AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypmod = -1));
