-- The tables of TPC-H, in the order in which foreign keys let them be filled.
CREATE SCHEMA tpch;
SET LOCAL search_path = tpch;

CREATE TABLE region (
    r_regionkey integer PRIMARY KEY,
    r_name character(25) NOT NULL,
    r_comment character varying(152)
);

CREATE TABLE nation (
    n_nationkey integer PRIMARY KEY,
    n_name character(25) NOT NULL,
    n_regionkey integer NOT NULL REFERENCES region,
    n_comment character varying(152)
);

CREATE TABLE supplier (
    s_suppkey integer PRIMARY KEY,
    s_name character(25) NOT NULL,
    s_address character varying(40) NOT NULL,
    s_nationkey integer NOT NULL REFERENCES nation,
    s_phone character(15) NOT NULL,
    s_acctbal numeric(15, 2) NOT NULL,
    s_comment character varying(101) NOT NULL
);

CREATE TABLE customer (
    c_custkey integer PRIMARY KEY,
    c_name character varying(25) NOT NULL,
    c_address character varying(40) NOT NULL,
    c_nationkey integer NOT NULL REFERENCES nation,
    c_phone character(15) NOT NULL,
    c_acctbal numeric(15, 2) NOT NULL,
    c_mktsegment character(10) NOT NULL,
    c_comment character varying(117) NOT NULL
);

CREATE TABLE part (
    p_partkey integer PRIMARY KEY,
    p_name character varying(55) NOT NULL,
    p_mfgr character(25) NOT NULL,
    p_brand character(10) NOT NULL,
    p_type character varying(25) NOT NULL,
    p_size integer NOT NULL,
    p_container character(10) NOT NULL,
    p_retailprice numeric(15, 2) NOT NULL,
    p_comment character varying(23) NOT NULL
);

CREATE TABLE partsupp (
    ps_partkey integer REFERENCES part,
    ps_suppkey integer REFERENCES supplier,
    ps_availqty integer NOT NULL,
    ps_supplycost numeric(15, 2) NOT NULL,
    ps_comment character varying(199) NOT NULL,
    PRIMARY KEY (ps_partkey, ps_suppkey)
);

CREATE TABLE orders (
    o_orderkey bigint PRIMARY KEY,
    o_custkey integer NOT NULL REFERENCES customer,
    o_orderstatus character(1) NOT NULL,
    o_totalprice numeric(15, 2) NOT NULL,
    o_orderdate date NOT NULL,
    o_orderpriority character(15) NOT NULL,
    o_clerk character(15) NOT NULL,
    o_shippriority integer NOT NULL,
    o_comment character varying(79) NOT NULL
);

CREATE TABLE lineitem (
    l_orderkey bigint REFERENCES orders,
    l_partkey integer NOT NULL,
    l_suppkey integer NOT NULL,
    l_linenumber integer,
    l_quantity numeric(15, 2) NOT NULL,
    l_extendedprice numeric(15, 2) NOT NULL,
    l_discount numeric(15, 2) NOT NULL,
    l_tax numeric(15, 2) NOT NULL,
    l_returnflag character(1) NOT NULL,
    l_linestatus character(1) NOT NULL,
    l_shipdate date NOT NULL,
    l_commitdate date NOT NULL,
    l_receiptdate date NOT NULL,
    l_shipinstruct character(25) NOT NULL,
    l_shipmode character(10) NOT NULL,
    l_comment character varying(44) NOT NULL,
    PRIMARY KEY (l_orderkey, l_linenumber),
    FOREIGN KEY (l_partkey, l_suppkey) REFERENCES partsupp
);
