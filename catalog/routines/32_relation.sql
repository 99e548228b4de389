-- A relation as the binder needs to know it. The body is also run by itself, where the schema is not installed
-- (`tests/support/binding/relations.py`): it names everything in full, and calls nothing of ours. In PL/pgSQL it is
-- planned once a session: planned at every call, it took ten times as long.
CREATE OR REPLACE FUNCTION gavial.relation(relation oid) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
    SET intervalstyle = 'postgres'
    SET extra_float_digits = 1
    SET bytea_output = 'hex'
    SET quote_all_identifiers = off
    SET standard_conforming_strings = on
AS $body$
BEGIN
    RETURN (
    SELECT pg_catalog.jsonb_build_object(
        'oid', c.oid::pg_catalog.int8,
        'schema', n.nspname,
        'name', c.relname,
        'columns', (
            SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(a.attname, a.atttypid::pg_catalog.int8,
                a.atttypmod, a.attcollation::pg_catalog.int8, NOT a.attnotnull, a.attnum) ORDER BY a.attnum), '[]')
            FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
        -- Columns that the stream of changes does not tell, each with the expression that computes it; null where
        -- partitions compute it by other expressions. (From PostgreSQL 18 on the stream tells stored ones.)
        'generated', (
            SELECT coalesce(pg_catalog.jsonb_object_agg(a.attname, e.expression), '{}')
            FROM pg_catalog.pg_attribute a CROSS JOIN LATERAL (
                SELECT CASE WHEN count(DISTINCT x.text) = 1 THEN min(x.text) END AS expression
                FROM (
                    SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS text
                    FROM pg_catalog.pg_attribute p JOIN pg_catalog.pg_attrdef d ON d.adrelid = p.attrelid AND d.adnum = p.attnum
                    WHERE p.attname = a.attname AND (p.attrelid = c.oid OR a.attgenerated = 's' AND p.attrelid IN (
                        SELECT t.relid FROM pg_catalog.pg_partition_tree(c.oid) t WHERE t.isleaf))) x) e
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p')
              AND a.attgenerated <> ''
              AND NOT (a.attgenerated = 's' AND pg_catalog.current_setting('server_version_num')::pg_catalog.int4 >= 180000)),
        'keys', (
            SELECT coalesce(pg_catalog.jsonb_agg(k.names ORDER BY k.is_primary DESC, k.names), '[]')
            FROM (
                SELECT i.indisprimary AS is_primary, (
                    SELECT pg_catalog.jsonb_agg(a.attname ORDER BY part.place)
                    FROM pg_catalog.unnest(i.indkey) WITH ORDINALITY AS part (number, place)
                    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = part.number
                    WHERE part.place <= i.indnkeyatts) AS names
                FROM pg_catalog.pg_index i
                WHERE i.indrelid = c.oid AND i.indisunique AND i.indimmediate AND i.indisvalid
                  AND NOT i.indisexclusion AND i.indpred IS NULL AND i.indexprs IS NULL) k),
        -- One that references a partitioned table has a copy for each partition; one with PERIOD compares no equals.
        'foreign_keys', (
            SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(
                (SELECT pg_catalog.jsonb_agg(a.attname ORDER BY part.place)
                 FROM pg_catalog.unnest(f.conkey) WITH ORDINALITY AS part (number, place)
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = part.number),
                pn.nspname, pc.relname,
                (SELECT pg_catalog.jsonb_agg(a.attname ORDER BY part.place)
                 FROM pg_catalog.unnest(f.confkey) WITH ORDINALITY AS part (number, place)
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = part.number)
                ) ORDER BY f.conname), '[]')
            FROM pg_catalog.pg_constraint f
            JOIN pg_catalog.pg_class pc ON pc.oid = f.confrelid
            JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace
            WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.convalidated
              AND coalesce(pg_catalog.to_jsonb(f) ->> 'conperiod', 'false') = 'false'
              AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint whole
                              WHERE whole.oid = f.conparentid AND whole.conrelid = f.conrelid)))
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1);
END
$body$;
COMMENT ON FUNCTION gavial.relation(oid) IS 'a table or view: its columns, keys and validated foreign keys';
