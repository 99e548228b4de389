-- ALTER TABLE may write all rows of a table anew, with other values in them, and the stream tells nothing of it.
CREATE OR REPLACE FUNCTION gavial.on_rewrite() RETURNS event_trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    UPDATE gavial.sources s
    SET state = 'joining', detail = 'its rows were written anew; it is copied anew'
    WHERE s.state <> 'stopped' AND pg_event_trigger_table_rewrite_oid() IN (SELECT gavial.leaves(s.relation));
    IF FOUND THEN
        NOTIFY gavial;
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.on_rewrite() IS 'a captured table whose rows ALTER TABLE writes anew is copied anew';

DROP EVENT TRIGGER IF EXISTS gavial_rewrite;
CREATE EVENT TRIGGER gavial_rewrite ON table_rewrite EXECUTE FUNCTION gavial.on_rewrite();
