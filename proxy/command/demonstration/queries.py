"""Three standing queries over TPC-H, and changes of its tables."""

from __future__ import annotations

from typing import Final

# Each with its goal: revenue of undelivered orders by day, lines by status, customers without orders.
QUERIES: Final = {
    "open_orders": (
        0.05,
        """SELECT o_orderdate, count(DISTINCT o_orderkey) AS orders,
               sum(l_extendedprice * (1 - l_discount)) AS revenue
           FROM orders JOIN lineitem ON l_orderkey = o_orderkey
           WHERE l_linestatus = 'O' GROUP BY o_orderdate""",
    ),
    "by_status": (
        0.2,
        """SELECT l_returnflag, l_linestatus, count(*) AS lines, sum(l_quantity) AS quantity,
               avg(l_extendedprice) AS price, max(l_shipdate) AS latest
           FROM lineitem GROUP BY l_returnflag, l_linestatus""",
    ),
    "idle_customers": (
        1,
        """SELECT n_name, count(*) AS customers, sum(c_acctbal) AS balance
           FROM customer JOIN nation ON n_nationkey = c_nationkey
           WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey) GROUP BY n_name""",
    ),
}

# Each batch is one transaction. The newest orders come again under new keys, as they would arrive.
BATCHES: Final = {
    "new orders": """
        WITH last AS (SELECT max(o_orderkey) AS key FROM orders), taken AS (
            SELECT o.*, (SELECT key FROM last) + row_number() OVER (ORDER BY o_orderkey) AS new_key
            FROM orders o ORDER BY o_orderkey DESC LIMIT 500
        ), inserted AS (
            INSERT INTO orders SELECT new_key, o_custkey, 'O', o_totalprice, o_orderdate + 30,
                o_orderpriority, o_clerk, o_shippriority, o_comment FROM taken
        )
        INSERT INTO lineitem SELECT new_key, l_partkey, l_suppkey, l_linenumber, l_quantity,
            l_extendedprice, l_discount, l_tax,
            'N', 'O', l_shipdate + 30, l_commitdate + 30, l_receiptdate + 30,
            l_shipinstruct, l_shipmode, l_comment
        FROM taken JOIN lineitem ON l_orderkey = o_orderkey
    """,
    "deliveries": """
        UPDATE lineitem SET l_linestatus = 'F', l_returnflag = 'A'
        WHERE l_linestatus = 'O' AND l_orderkey % 7 = 0
    """,
    "cancellations": """
        WITH gone AS (DELETE FROM lineitem WHERE l_orderkey % 97 = 5 RETURNING l_orderkey)
        DELETE FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM gone)
    """,
}
