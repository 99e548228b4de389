"""Functions of PostgreSQL that plans are made of: their oids, which are the same on every server.

They are called as PostgreSQL calls them, with the types of the arguments where several share a name. Those
behind comparison operators are in `catalog/postgres/comparisons.py`.
"""

from __future__ import annotations

from typing import Final

COUNT: Final = 2803
COUNT_ANY: Final = 2147
REGR_COUNT: Final = 2818
SUM_INT8: Final = 2107
SUM_INT4: Final = 2108
SUM_INT2: Final = 2109
SUM_NUMERIC: Final = 2114
AVG_INT8: Final = 2100
AVG_INT4: Final = 2101
AVG_INT2: Final = 2102
AVG_NUMERIC: Final = 2103
MAX_INT4: Final = 2116
ARRAY_AGG_ANYNONARRAY: Final = 2335
STRING_AGG_TEXT_TEXT: Final = 3538

FLOAT8_FLOAT4: Final = 311
FLOAT4_FLOAT8: Final = 312
FLOAT8_INT8: Final = 482
FLOAT8_NUMERIC: Final = 1746
INT8_NUMERIC: Final = 1779
NUMERIC_INT8: Final = 1781

FLOAT8PL: Final = 218
FLOAT8MI: Final = 219
FLOAT8MUL: Final = 216
FLOAT8DIV: Final = 217
FLOAT8UM: Final = 220
FLOAT8ABS: Final = 221
ABS_FLOAT8: Final = 1395

NUMERIC_ADD: Final = 1724
NUMERIC_SUB: Final = 1725
NUMERIC_MUL: Final = 1726
NUMERIC_DIV: Final = 1727
NUMERIC_UMINUS: Final = 1771
NUMERIC_UPLUS: Final = 1915
NUMERIC_ABS: Final = 1704
ABS_NUMERIC: Final = 1705
ROUND_NUMERIC_INT4: Final = 1707
ROUND_NUMERIC: Final = 1708
DIV_NUMERIC_NUMERIC: Final = 1973
NUMERIC_DIV_TRUNC: Final = 1980
SCALE: Final = 3281
TRIM_SCALE: Final = 5043

COUNTS: Final = frozenset((COUNT, COUNT_ANY))
INTEGER_SUMS: Final = frozenset((SUM_INT2, SUM_INT4))
AVERAGES: Final = frozenset((AVG_INT8, AVG_INT4, AVG_INT2, AVG_NUMERIC))
"""Of integers and numerics, which are those of sums and counts."""
