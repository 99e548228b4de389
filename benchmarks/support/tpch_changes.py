"""A thousand changed rows anywhere in the tables of TPC-H, and the server that has them."""

from __future__ import annotations

from typing import Final

import psycopg

SETTINGS: Final = {"shared_buffers": "1GB", "work_mem": "64MB", "max_wal_size": "8GB"}
"""PostgreSQL as somebody sets it up who computes such queries."""

_ORDERS: Final = 300
_LINES: Final = 700
_ORDERS_AT_ONE: Final = 1_500_000
_CHANGES: Final = (
    "UPDATE orders SET o_totalprice = o_totalprice + 1, o_shippriority = o_shippriority + 1 WHERE ctid IN ("
    "SELECT ctid FROM orders TABLESAMPLE BERNOULLI ({share}) REPEATABLE ({seed}) LIMIT {orders})",
    "UPDATE lineitem SET l_quantity = l_quantity % 50 + 1, l_extendedprice = l_extendedprice + 1 "
    "WHERE ctid IN ("
    "SELECT ctid FROM lineitem TABLESAMPLE BERNOULLI ({share}) REPEATABLE ({seed}) LIMIT {lines})",
)
"""Rows anywhere in the tables; of each more are drawn than are changed."""


def change_thousand(user: psycopg.Connection, scale: float, seed: int) -> None:
    """Update a thousand rows of orders and lineitem, in one transaction."""
    share = 200 * _ORDERS / (_ORDERS_AT_ONE * scale)
    with user.transaction():
        for statement in _CHANGES:
            text = statement.format(share=share, seed=seed, orders=_ORDERS, lines=_LINES)
            user.execute(text.encode())
