-- Lets Gavial's own login, and nobody else, check SCRAM passwords where a relayed proof cannot hold.
CREATE OR REPLACE FUNCTION gavial.verifier(name text) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT rolpassword FROM pg_catalog.pg_authid
    WHERE rolname OPERATOR(pg_catalog.=) name
      AND (rolvaliduntil IS NULL OR rolvaliduntil OPERATOR(pg_catalog.>) pg_catalog.now())
$body$;
REVOKE ALL ON FUNCTION gavial.verifier(text) FROM PUBLIC;
COMMENT ON FUNCTION gavial.verifier(text) IS
    'what PostgreSQL keeps of the password of a role while it is valid; for the proxy''s own login alone';
