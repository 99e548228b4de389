"""Expected numbers of rows, as vectors with an entry for each firing: of a change, and of a content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Share: TypeAlias = Vector | float


@dataclass(frozen=True, slots=True)
class Change:
    """Rows that are inserted, replaced by a row of the same key (a retraction and a row), and deleted.

    `moved`: the replacements in which an extreme or the first rows differ. `replaced_rows`: the distinct rows
    that are replaced; one that is replaced repeatedly counts once.
    """

    inserts: Vector
    replacements: Vector
    deletes: Vector
    moved: Vector
    replaced_rows: Vector

    @property
    def gross(self) -> Vector:
        """The number of weighted rows, of either sign: a replacement counts twice."""
        return self.inserts + 2.0 * self.replacements + self.deletes

    @property
    def net(self) -> Vector:
        """The number of rows by which it grows a content."""
        return self.inserts - self.deletes

    def map(self, function: Callable[[Vector], Vector]) -> Change:
        """The change with the function applied to each number."""
        inserts, replacements, deletes = map(function, (self.inserts, self.replacements, self.deletes))
        return Change(inserts, replacements, deletes, function(self.moved), function(self.replaced_rows))

    def kept(self, of_new: Share, of_others: Share) -> Change:
        """These shares of the new rows, and of all others."""
        moved, replaced_rows = self.moved * of_others, self.replaced_rows * of_others
        replacements, deletes = self.replacements * of_others, self.deletes * of_others
        return Change(self.inserts * of_new, replacements, deletes, moved, replaced_rows)

    def negated(self) -> Change:
        """The same with the other sign."""
        return Change(self.deletes, self.replacements, self.inserts, self.moved, self.replaced_rows)

    def as_change(self) -> Change:
        """Itself."""
        return self


@dataclass(frozen=True, slots=True)
class Content:
    """Rows that are there.

    `moved`: groups in which an extreme or the first rows differ from those before. `stands_for`: the number
    of rows before they were cut down to those that some change meets.
    """

    rows: Vector
    moved: Share
    stands_for: Vector

    @property
    def gross(self) -> Vector:
        """Rows with a weight."""
        return self.rows

    @property
    def net(self) -> Vector:
        """The number of rows."""
        return self.rows

    def kept(self, of_new: Share, of_others: Share) -> Content:
        """This share of the rows; `of_others` applies to the rows that they stand for."""
        rows = self.rows * of_new
        is_whole = self.stands_for is self.rows and of_new is of_others
        stands_for = rows if is_whole else self.stands_for * of_others
        return Content(rows, self.moved * of_others, stands_for)

    def negated(self) -> Change:
        """The change that takes them all away."""
        return self.as_change().negated()

    def as_change(self) -> Change:
        """The change that brings them all."""
        none = np.zeros(len(self.rows))
        return Change(self.rows, none, none, none + self.moved, self.stands_for)


RowCounts: TypeAlias = Change | Content


def content(rows: Vector) -> Content:
    """A content of so many rows."""
    return Content(rows, 0.0, rows)


def total(changes: Sequence[Change]) -> Change:
    """The sum of changes."""
    one, *others = changes
    for other in others:
        replacements, deletes = one.replacements + other.replacements, one.deletes + other.deletes
        moved, replaced_rows = one.moved + other.moved, one.replaced_rows + other.replaced_rows
        one = Change(one.inserts + other.inserts, replacements, deletes, moved, replaced_rows)
    return one


def different(domain: Share, rows: Vector) -> Vector:
    """How many distinct values this number of rows has, drawn from a domain of this size."""
    several = np.maximum(domain, 1.0 + 1e-9)
    expected: Vector = np.minimum(-several * np.expm1(rows * np.log1p(-1.0 / several)), domain)
    return expected


def reached(share: float, rows: Vector) -> Vector:
    """The probability that a row has a partner among this many rows, each being one with this probability."""
    if share >= 1.0:
        return np.minimum(rows, 1.0)
    shares: Vector = -np.expm1(rows * np.log1p(-share))
    return shares


def presence(rows: Vector) -> Vector:
    """The probability that there is any row."""
    return np.minimum(rows, 1.0)


def reconciled(change: Change, before: Vector, after: Vector) -> Change:
    """The change, adjusted to lead from one number of rows of the content to the other.

    Inserts without a new group become replacements, replacements in groups that are gone become deletes.
    """
    gap = after - before - change.net
    missing, excess = np.maximum(gap, 0.0), np.maximum(-gap, 0.0)
    turned, gone = np.minimum(change.replacements, missing), np.minimum(change.replacements, excess)
    fewer = np.minimum(change.inserts, excess - gone)
    replacements = change.replacements - (turned + gone)
    inserts, deletes = change.inserts + (missing - fewer), change.deletes + (excess - fewer)
    moved, replaced_rows = (np.minimum(rows, replacements) for rows in (change.moved, change.replaced_rows))
    return Change(inserts, replacements, deletes, moved, replaced_rows)
