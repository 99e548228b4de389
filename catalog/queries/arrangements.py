"""The rows that a coordinator keeps to look them up by key, as the catalog lists them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from psycopg import Connection

from catalog.rows import named


@dataclass(frozen=True, slots=True)
class ArrangementRow:
    """An arrangement of a buffer by columns of its files, or why there is none; `last_used`: Unix time."""

    buffer: str
    key: Sequence[str]
    columns: Sequence[str]
    kept: bool
    why: str
    predicted_bytes: int
    bytes: int
    rows: int
    files: int
    reached: int | None
    uses: int
    last_used: float | None


def list_arrangements(connection: Connection, arrangements: Iterable[ArrangementRow]) -> None:
    """List these in place of those that were listed before."""
    connection.execute("DELETE FROM gavial.arrangements")
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gavial.arrangements (buffer, key, columns, kept, why, predicted_bytes, bytes, rows, "
            "files, reached, uses, last_used) VALUES (%(buffer)s, %(key)s, %(columns)s, %(kept)s, %(why)s, "
            "%(predicted_bytes)s, %(bytes)s, %(rows)s, %(files)s, %(reached)s, %(uses)s, "
            "to_timestamp(%(last_used)s))",
            [named(arrangement) for arrangement in arrangements],
        )
