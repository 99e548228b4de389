"""The fingerprint of what a plan computes and stores. What a plan with another one has stored cannot be used.

Two plans have the same fingerprint where every node is of the same kind, over the same inputs, in the same
order. Kinds have names of their own here, and names that are only shown (of columns, of subplans) are left
out: neither renaming a class nor renaming a column causes a result to be computed from scratch. Whoever
changes how a kind is written, or what its nodes compute, raises VERSION. A kind that is missing here is an
error of the first plan that has it, and of a test.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from hashlib import sha256
from operator import attrgetter
from typing import Final, TypeAlias

from catalog.postgres.types import SqlType
from dialect.expressions import scalar
from dialect.expressions.scalar import Extreme, Scalar
from planner.algebra.logical import AggregateCall, Aggregated, Computed, Field, Order
from planner.delta import weighted
from planner.delta.weighted import DeltaPlan

VERSION: Final = 1

Written: TypeAlias = "list[Written] | str | int | bool | None"

KINDS: Final[Mapping[type, tuple[str, ...]]] = {
    weighted.TableBuffer: ("table", "number", "table.schema", "table.name", "fields", "attributes"),
    weighted.NodeBuffer: ("node", "number", "fields"),
    weighted.Read: ("read", "buffer", "moment", "fields"),
    weighted.StepRef: ("use", "step", "fields"),
    weighted.Rows: ("rows", "rows", "fields"),
    weighted.DeltaFilter: ("where", "input", "condition"),
    weighted.DeltaProject: ("compute", "input", "columns"),
    weighted.Pairs: ("pairs", "left", "right", "condition"),
    weighted.SemiJoin: ("matched", "left", "right", "condition", "negated"),
    weighted.KeySemiJoin: ("among", "input", "of", "keys"),
    weighted.Choose: ("choose", "guard", "shortcut", "general"),
    weighted.Sum: ("sum", "inputs", "fields"),
    weighted.Negate: ("negate", "input"),
    weighted.Consolidate: ("consolidate", "input"),
    weighted.AsSet: ("once", "input"),
    weighted.PartialAggregate: ("tallies", "input", "keys", "columns"),
    weighted.Groups: ("groups", "input", "keys", "columns"),
    weighted.First: ("first", "input", "order", "limit", "offset"),
    scalar.Reference: ("column", "column", "type"),
    scalar.Constant: ("constant", "text", "type"),
    scalar.Call: ("call", "function", "name", "arguments", "collation", "type"),
    scalar.Cast: ("cast", "argument", "method", "function", "type"),
    scalar.And: ("and", "arguments"),
    scalar.Or: ("or", "arguments"),
    scalar.Not: ("not", "argument"),
    scalar.IsNull: ("is null", "argument"),
    scalar.IsTruth: ("is", "argument", "truth"),
    scalar.IsDistinct: ("is distinct", "equality"),
    scalar.Case: ("case", "branches", "default", "type"),
    scalar.Coalesce: ("coalesce", "arguments", "type"),
    scalar.NullIf: ("nullif", "equality", "type"),
    scalar.Array: ("array", "elements", "type"),
    scalar.Element: ("element", "type"),
}
"""The name of each kind of buffer, node and expression, and what is written of it."""

PARTS: Final[Mapping[type, tuple[str, ...]]] = {
    weighted.Subplan: ("writes", "reads", "steps", "method"),
    weighted.Step: ("number", "outcome"),
    weighted.Guard: ("appended", "level"),
    weighted.Tallied: ("field", "tally", "value"),
    scalar.ArrayComparison: ("quantifier", "comparison", "array"),
    scalar.Branch: ("condition", "result"),
    AggregateCall: ("function", "name", "arguments", "distinct", "order", "condition", "collation", "type"),
    Aggregated: ("field", "call"),
    Computed: ("field", "value"),
    Order: ("value", "descending", "nulls_first", "breaks_ties"),
    Field: ("column", "type"),
    SqlType: ("oid", "typmod", "collation", "wide"),
}
"""What is written of values whose kind their place tells."""


def fingerprint(delta: DeltaPlan, values: Iterable[Scalar], layout: int) -> str:
    """The fingerprint of the plan, of the columns computed while publishing, and of how rows are stored."""
    text = json.dumps(_written((layout, delta.buffers, delta.subplans, tuple(values))))
    return f"{VERSION}:{sha256(text.encode()).hexdigest()}"


def _written(value: object) -> Written:
    match value:
        case None | bool() | int() | str():
            return value
        case Enum():
            return _written(value.value)
        case tuple():
            return [_written(part) for part in value]
        case Extreme(greatest=greatest, arguments=arguments, collation=collation, type=type_):
            return ["greatest" if greatest else "least", *map(_written, (arguments, collation, type_))]
    kind = type(value)
    if kind in PARTS:
        return [_written(attrgetter(name)(value)) for name in PARTS[kind]]
    word, *names = KINDS[kind]
    return [word, *(_written(attrgetter(name)(value)) for name in names)]
