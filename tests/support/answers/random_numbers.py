"""Numerics of all scales and sizes, and tables of them under changes that also exchange equal values."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

import psycopg

EDGES: Final = ("0", "0.00", "-0.00", "2.5", "2.50", "2.500", "1e-30", "-1e-19", "1e25", "-1e60", "NaN")
INFINITIES: Final = ("Infinity", "-Infinity")
SETUP: Final = """
    CREATE DOMAIN amount AS numeric;
    CREATE TABLE n (id int PRIMARY KEY, g int, a numeric, b numeric, m amount, c numeric(12,2),
        w numeric(60,5), l numeric[]);
"""
_COLUMNS: Final = "g, a, b, m, c, w, l"


def number(random: Random, wild: bool = True) -> str:
    """A numeric as text: mostly of a few digits, of which many are equal though written differently."""
    kind = random.random()
    if wild and kind < 0.15:
        return random.choice((*EDGES, *INFINITIES))
    if wild and kind < 0.3:
        before = "".join(random.choices("0123456789", k=random.randrange(1, 60)))
        behind = "".join(random.choices("0123456789", k=random.randrange(0, 40)))
        return f"{random.choice(('', '-'))}{before}.{behind}"
    whole = random.randrange(-3, 4)
    return (
        f"{whole}.{random.choice(('5', '50', '500', '25', '0', '00', '125'))}" if kind < 0.8 else str(whole)
    )


class RandomNumbers:
    """The table `n` and what happens to it; without `wild` every number can be computed with."""

    def __init__(self, seed: int, wild: bool = True) -> None:
        self._random = Random(seed)
        self._wild = wild
        self._next = 0

    def fill(self, connection: psycopg.Connection, rows: int) -> None:
        """So many rows more."""
        for _ in range(rows):
            self._next += 1
            values = self._values()
            connection.execute(
                f"INSERT INTO n (id, {_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s::numeric[])".encode(),
                (self._next, *values),
            )

    def change(self, connection: psycopg.Connection, changes: int) -> None:
        """Rows come, go, get other values, and equal ones that are written differently."""
        with connection.transaction():
            for _ in range(changes):
                place = self._random.randrange(1, self._next + 1)
                match self._random.randrange(5):
                    case 0:
                        self.fill(connection, 1)
                    case 1:
                        connection.execute("DELETE FROM n WHERE id = %s", (place,))
                    case 2:
                        column = self._random.choice(("a", "b", "m"))
                        value = self._number()
                        connection.execute(
                            f"UPDATE n SET {column} = %s WHERE id = %s".encode(), (value, place)
                        )
                    case 3:
                        connection.execute(
                            "UPDATE n SET a = trim_scale(a), m = round(m, scale(m) + 1) WHERE id = %s "
                            "AND scale(m) < 60",
                            (place,),
                        )
                    case _:
                        connection.execute("UPDATE n SET b = a, g = g + 1 WHERE id = %s", (place,))

    def _number(self) -> str | None:
        return None if self._random.random() < 0.1 else number(self._random, self._wild)

    def _values(self) -> Iterator[object]:
        yield self._random.randrange(3)
        yield from (self._number() for _ in range(3))
        yield self._random.choice((None, "1.5", "0", "-2.25"))
        yield self._random.choice((None, "1.5", "1e50", "-2.25"))
        yield [self._number() for _ in range(self._random.randrange(3))]
