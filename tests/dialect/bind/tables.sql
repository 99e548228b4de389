CREATE SCHEMA bound;
SET search_path = bound;

CREATE TABLE things (
    id bigint PRIMARY KEY,
    small smallint,
    whole integer,
    real4 real,
    real8 double precision,
    price numeric(12, 2),
    exact numeric,
    flag boolean,
    label text,
    short character varying(10),
    code character(4),
    day date,
    at timestamp(3) without time zone,
    atz timestamp with time zone,
    tod time without time zone,
    span interval,
    key uuid,
    raw bytea,
    doc jsonb,
    ints integer[],
    labels text[],
    letter "char",
    posix text COLLATE "C",
    nick name
);

CREATE TABLE others (
    id integer NOT NULL,
    thing_id bigint,
    label character varying(20),
    amount numeric(10, 3),
    posix text COLLATE "POSIX"
);

CREATE FUNCTION doubled(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 2 * $1';
CREATE OPERATOR @+ (FUNCTION = int4pl, LEFTARG = integer, RIGHTARG = integer);
