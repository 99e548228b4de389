"""TPC-H in a database, its queries as standing ones, and changes of all its tables by a seed."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg

from tests.support.checkout import ROOT

TABLES: Final = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
QUERIES: Final = tuple(f"q{number:02d}" for number in range(1, 23))

# Columns that may be missing here, though not in TPC-H: what is missing is where engines differ.
_NULLABLE: Final = (
    "supplier.s_comment",
    "customer.c_acctbal",
    "customer.c_phone",
    "part.p_size",
    "part.p_type",
    "partsupp.ps_supplycost",
    "orders.o_totalprice",
    "orders.o_comment",
    "lineitem.l_discount",
    "lineitem.l_quantity",
    "lineitem.l_receiptdate",
)

# Where a query gives nothing, or one row that never changes, in so small a database.
_EASIER: Final = {
    "q02": (("p_size = 15", "p_size < 15"),),
    "q08": (("p_type = 'ECONOMY ANODIZED STEEL'", "p_type like '%STEEL'"),),
    "q11": (("* 0.0001", "* 0.001"),),
    "q17": (("p_brand = 'Brand#23'", "p_brand < 'Brand#4'"), ("p_container = 'MED BOX'", "true")),
    "q18": (("> 300", "> 200"),),
    "q19": (("l_shipinstruct = 'DELIVER IN PERSON'", "true"),),
    "q20": (("p_name like 'forest%'", "p_name like '%e%'"),),
    "q21": (("n_name = 'SAUDI ARABIA'", "n_name < 'J'"),),
}


def load(connection: psycopg.Connection, home: Path, scale: float) -> None:
    """Make the tables, in the schema tpch, and fill them."""
    program = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([program, "csv", "-s", str(scale), "-o", home], check=True, capture_output=True)
    with connection.transaction():
        connection.execute((ROOT / "proxy/command/demonstration/tpch.sql").read_bytes())
    connection.execute("SET search_path = public, tpch")
    for table in TABLES:
        with connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv, HEADER)".encode()) as copy:
            copy.write((home / f"{table}.csv").read_bytes())
    for column in _NULLABLE:
        table, name = column.split(".")
        connection.execute(f"ALTER TABLE {table} ALTER {name} DROP NOT NULL".encode())
    # Without it PostgreSQL's own answers to q17 and q20 take minutes.
    connection.execute("CREATE INDEX ON lineitem (l_partkey, l_suppkey)")
    connection.execute("ANALYZE")


def text_of(query: str) -> str:
    """A query of TPC-H that has something to answer here."""
    text = (ROOT / "tests" / "dialect" / "bind" / "tpch" / f"{query}.sql").read_text().strip().rstrip(";")
    for old, new in _EASIER.get(query, ()):
        assert old in text, f"{query} has no {old}"
        text = text.replace(old, new)
    return text


def change(connection: psycopg.Connection, choice: random.Random) -> None:
    """A batch of changes in several transactions; every table has a part, every foreign key holds."""
    for statements in _transactions(choice):
        with connection.transaction():
            for statement in statements:
                connection.execute(statement.encode())


def _transactions(choice: random.Random) -> Iterator[list[str]]:
    """Late rows, rows that move, rows that go with what hangs on them, values that come and go."""
    part, new = choice.randrange(13), choice.randrange(1_000_000, 2_000_000_000)
    yield [
        f"INSERT INTO region VALUES ({new}, 'ATLANTIS', NULL)",
        f"INSERT INTO nation VALUES ({new}, 'GERMANIA', {choice.choice((new, 3))}, 'late')",
        f"UPDATE region SET r_comment = 'x' WHERE r_regionkey % 3 = {part % 3}",
        f"UPDATE nation SET n_regionkey = (n_regionkey + 1) % 5 WHERE n_nationkey = {part}",
    ]
    yield _late_orders(part, new)
    yield [
        "UPDATE lineitem SET l_discount = nullif(l_discount, 0.05), l_quantity = l_quantity + 1 "
        f"WHERE l_orderkey % 13 = {part}",
        "UPDATE lineitem SET l_receiptdate = CASE WHEN l_linenumber = 2 THEN NULL ELSE l_commitdate + 3 END "
        f"WHERE l_orderkey % 17 = {part}",
        f"UPDATE lineitem SET l_returnflag = 'R' WHERE l_partkey % 19 = {part}",
    ]
    yield [
        f"DELETE FROM lineitem WHERE l_orderkey % 23 = {part} OR l_partkey % 29 = {part}",
        f"DELETE FROM orders WHERE o_orderkey % 23 = {part}",
        f"DELETE FROM partsupp WHERE ps_partkey % 29 = {part}",
        f"DELETE FROM part WHERE p_partkey % 58 = {part}",
    ]
    yield [
        f"INSERT INTO part SELECT p_partkey + {new}, p_name, p_mfgr, p_brand, p_type, NULL, p_container, "
        f"p_retailprice, p_comment FROM part WHERE p_partkey < 1000000 AND p_partkey % 31 = {part}",
        "INSERT INTO partsupp SELECT p_partkey, s_suppkey, 100, NULL, 'late' FROM part, supplier "
        f"WHERE p_partkey > {new} AND s_suppkey % 3 = 0 ON CONFLICT DO NOTHING",
        "UPDATE partsupp SET ps_supplycost = ps_supplycost / 2, ps_availqty = ps_availqty + 1000 "
        f"WHERE ps_partkey % 5 = {part % 5}",
        f"UPDATE part SET p_size = CASE WHEN p_size IS NULL THEN 7 END WHERE p_partkey % 11 = {part}",
    ]
    yield [
        f"UPDATE supplier SET s_nationkey = (s_nationkey + 1) % 25 WHERE s_suppkey % 4 = {part % 4}",
        "UPDATE supplier SET s_comment = CASE WHEN s_comment IS NULL THEN 'Customer  Complaints' END "
        f"WHERE s_suppkey % 7 = {part % 7}",
        "UPDATE customer SET c_acctbal = CASE WHEN c_acctbal IS NULL THEN 5000 END "
        f"WHERE c_custkey % 7 = {part % 7}",
        "UPDATE orders SET o_orderdate = o_orderdate + 30, o_totalprice = o_totalprice + 1 "
        f"WHERE o_orderkey % 13 = {part}",
        f"UPDATE orders SET o_comment = NULL WHERE o_orderkey % 37 = {part}",
    ]


def _late_orders(part: int, new: int) -> list[str]:
    """Customers with orders with their lines: copies of some that are there."""
    return [
        f"INSERT INTO customer SELECT {new} + c_custkey, c_name, c_address, {part}, c_phone, NULL, "
        f"c_mktsegment, 'late' FROM customer WHERE c_custkey < 1000000 AND c_custkey % 13 = {part}",
        f"INSERT INTO orders SELECT {new} + o_orderkey, {new} + o_custkey, o_orderstatus, o_totalprice, "
        f"o_orderdate + {part}, o_orderpriority, o_clerk, o_shippriority, o_comment "
        f"FROM orders WHERE o_custkey < 1000000 AND o_custkey % 13 = {part}",
        f"INSERT INTO lineitem SELECT {new} + l_orderkey, l_partkey, l_suppkey, l_linenumber, "
        "l_quantity * 2, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, "
        "l_shipdate + 1, l_commitdate, "
        "l_receiptdate, l_shipinstruct, l_shipmode, l_comment "
        f"FROM lineitem WHERE {new} + l_orderkey IN (SELECT o_orderkey FROM orders)",
    ]
