"""The table of functions that Spark computes exactly as PostgreSQL: by their oids in pg_proc."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dialect.spark_comparisons import COMPARISONS
from dialect.spark_dates import DATES
from dialect.spark_floats import FLOATS
from dialect.spark_integers import INTEGERS
from dialect.spark_numerics import NUMERICS
from dialect.spark_rendered import Builder
from dialect.spark_text import TEXTS, WITH_BLANKS

__all__ = ["FUNCTIONS", "WITH_BLANKS"]

FUNCTIONS: Final[Mapping[int, Builder]] = {
    **COMPARISONS,
    **DATES,
    **FLOATS,
    **INTEGERS,
    **NUMERICS,
    **TEXTS,
}
