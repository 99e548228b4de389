"""The queries whose paces are measured: TPC-H's, and two that are hard for one operator each."""

from __future__ import annotations

from typing import Final

from benchmarks.support.tpch_warehouse import Laboratory
from catalog.postgres.schema import Column, TableName
from dialect.bound.query import Query

STEPS: Final = 100
"""In so many equal steps all tables come."""

EVENLY: Final = tuple(range(1, STEPS + 1))
"""Up to which step the log has come whenever somebody looks."""

PARTLY: Final = ("q02", "q11", "q13", "q15", "q16", "q17", "q18", "q20", "q21", "q22", "q_aggjoin", "q_outer")
"""Those of which some part takes back what it gave."""

GOALS: Final = (0.5, 0.2, 0.1, 0.05, 0.02)
ALL: Final = 0.05
"""The goal of the queries that are incremental throughout."""

_EXTRA: Final = {
    "q_aggjoin": (
        """
 SELECT customer.c_custkey,
    customer.c_acctbal
   FROM tpch.customer,
    ( SELECT avg(customer_1.c_acctbal) AS balance
           FROM tpch.customer customer_1) average
  WHERE (customer.c_acctbal > average.balance);
""",
        "customer.c_custkey customer.c_acctbal",
    ),
    "q_outer": (
        """
 SELECT partsupp.ps_partkey,
    partsupp.ps_suppkey,
    supplier.s_name,
    part.p_name
   FROM ((tpch.partsupp
     LEFT JOIN tpch.supplier ON ((supplier.s_suppkey = partsupp.ps_suppkey)))
     LEFT JOIN tpch.part ON ((part.p_partkey = partsupp.ps_partkey)))
  WHERE (partsupp.ps_availqty < 100);
""",
        "partsupp.ps_partkey partsupp.ps_suppkey supplier.s_name part.p_name",
    ),
}


def extra_queries(laboratory: Laboratory) -> dict[str, Query]:
    """An aggregate joined with a table, and rows that wait for their partners; bound."""
    return {
        name: laboratory.bind(canonical, [_column(laboratory, column) for column in columns.split()])
        for name, (canonical, columns) in _EXTRA.items()
    }


def _column(laboratory: Laboratory, named: str) -> Column:
    """A column of the outcome, which is one of a table."""
    table, name = named.split(".")
    columns = laboratory.tables[TableName("tpch", table)].columns
    return next(Column(name, column.type) for column in columns if column.name == name)
