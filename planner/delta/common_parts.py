"""Parts that occur several times in a plan: computed and stored once, and read under the columns of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from planner.algebra.columns import Numbers, refer, renumbered
from planner.algebra.logical import Computed, Field, Plan, Scan, fields
from planner.algebra.tree import transform
from planner.delta.linear import Moments
from planner.delta.weighted import DeltaProject
from planner.delta.weighted import fields as fields_of

_Key: TypeAlias = tuple[Plan, frozenset[int]]


@dataclass(slots=True)
class Common:
    """The nodes that are stored already, with columns renumbered so that equal plans are equal values."""

    known: dict[_Key, tuple[Moments, Mapping[int, Field]]] = field(default_factory=dict)

    def find(self, plan: Plan, given: frozenset[int], store: Callable[[], Moments]) -> Moments:
        """The content of a node by the columns `given`; it is stored now unless an equal node is stored
        already.

        Equal plans have equal rows; only the names of their columns differ.
        """
        key, columns = _shared(plan, given)
        if key not in self.known:
            moments = store()
            self.known[key] = moments, columns
            return moments
        moments, others = self.known[key]
        renaming = {others[number].column: columns[number] for number in others}
        renamed = tuple(Computed(renaming[field.column], refer(field)) for field in fields_of(moments.change))
        return moments.map(lambda outcome: DeltaProject(outcome, renamed))


def _shared(plan: Plan, given: frozenset[int]) -> tuple[_Key, Mapping[int, Field]]:
    """The plan with its columns numbered in order of appearance, and the original columns by number."""
    same, numbers = renumbered(transform(plan, _unnamed), Numbers())
    columns = {numbers[field.column].column: field for field in fields(plan)}
    return (same, frozenset(number for number, field in columns.items() if field.column in given)), columns


def _unnamed(plan: Plan) -> Plan:
    return replace(plan, alias="") if isinstance(plan, Scan) else plan
