"""The table of functions that Spark computes exactly as PostgreSQL: by their oids in pg_proc."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dialect.spark.comparisons import COMPARISONS
from dialect.spark.dates import DATES
from dialect.spark.numbers.floats import FLOATS
from dialect.spark.numbers.integers import INTEGERS
from dialect.spark.numbers.numerics import NUMERICS
from dialect.spark.rendered import Builder
from dialect.spark.text import TEXTS

FUNCTIONS: Final[Mapping[int, Builder]] = {
    **COMPARISONS,
    **DATES,
    **FLOATS,
    **INTEGERS,
    **NUMERICS,
    **TEXTS,
}
