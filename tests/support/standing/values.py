"""What a type is to random standing queries: its name, its values, and which features they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from random import Random


class Feature(Enum):
    """What a generated case may use; each can be switched off while a bug of it is known."""

    SCALE = "numeric values of equal value and different scale, and expressions that show the scale"
    NUMERIC_SPECIALS = "NaN and the infinities in numeric"
    NUMERIC_LARGE = "numeric values of more than 20 digits before the point or 18 behind it"
    NEGATIVE_ZERO = "-0 in real and double precision"
    JSONB_SCALE = "jsonb values such as 1 and 1.0"
    PADDING = "the padding of character(n)"
    REAL_SUM = "sum and avg of real"
    TIMETZ = "time with time zone"
    MIDNIGHT = "24:00:00"
    FAR_DATES = "infinite dates and those outside the years 1 to 9999"
    LONG_QUOTIENTS = "quotients of numerics with more than 12 digits before the point"
    LAST_YEARS = "timestamps of the years 294247 to 294276"
    BOUNDS = "arrays of several dimensions or with other lower bounds than 1"
    UNREAD = "values that cannot be stored in columns that no query reads"
    EQUAL_ARRAYS = "count(DISTINCT) of arrays whose elements may be equal and written differently"
    GENERATED = "stored generated columns"
    PARTITIONS = "queries on a partitioned table and on its partitions"
    ERRORS = "expressions that raise errors for some values"
    SETTINGS = "settings of the database that change how values are read and written"
    VIEWS = "queries on views"


@dataclass(frozen=True)
class Kind:
    """A type as columns declare it, and the texts of its values.

    `edges` gives values that need a feature; `spellings` says that equal values may be written differently.
    """

    name: str
    family: str
    values: tuple[str, ...]
    edges: Mapping[Feature, tuple[str, ...]] = field(default_factory=dict)
    needs: Feature | None = None
    spellings: bool = False
    normal: str | None = None

    def literal(self, random: Random, features: frozenset[Feature]) -> str:
        """A value as SQL has it, cast to the type."""
        texts = self.texts(features)
        if self.normal is not None and random.random() < 0.2:
            return quoted(self.normal.format(random.gauss(0, 1)), self.cast)
        return quoted(random.choice(texts), self.cast)

    def texts(self, features: frozenset[Feature]) -> tuple[str, ...]:
        """The values that these features allow."""
        return (
            *self.values,
            *(text for feature, texts in self.edges.items() if feature in features for text in texts),
        )

    @property
    def cast(self) -> str:
        """The type's name in a cast."""
        return self.name.partition(" COLLATE")[0]


def quoted(text: str, cast: str) -> str:
    """A literal on one line."""
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    escaped = "".join(
        character if character.isprintable() else f"\\u{ord(character):04x}" for character in escaped
    )
    return f"{'E' if chr(92) in escaped else ''}'{escaped}'::{cast}"
