"""Invariants of delta plans, checked when a plan is derived and when a subplan is specialised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from catalog.postgres.types import BOOL, SqlType
from dialect.expressions.scalar import Reference, Scalar
from dialect.expressions.walk import inside
from planner.algebra.logical import Field
from planner.delta.weighted import (
    AsSet,
    Choose,
    Consolidate,
    DeltaFilter,
    DeltaPlan,
    DeltaProject,
    First,
    Groups,
    KeySemiJoin,
    Moment,
    Negate,
    Pairs,
    PartialAggregate,
    Read,
    Rows,
    SemiJoin,
    StepRef,
    Subplan,
    Sum,
    Weighted,
    fields,
)
from planner.delta.weighted_tree import inputs

_Types = Mapping[int, SqlType]


def check_delta(plan: DeltaPlan) -> None:
    """Each buffer is numbered by its place, and written once, after the buffers that it is computed from."""
    assert [buffer.number for buffer in plan.buffers] == list(range(len(plan.buffers)))
    written: set[int] = set()
    unwritten = {subplan.writes for subplan in plan.subplans}
    for subplan in plan.subplans:
        assert subplan.writes not in written, f"buffer {subplan.writes} is written twice"
        unwritten.discard(subplan.writes)
        assert not unwritten & {*subplan.reads}, f"buffer {subplan.writes} reads what is written later"
        check_subplan(subplan)
        given = fields(subplan.steps[-1].outcome)
        kept = plan.buffers[subplan.writes].fields
        assert {field.column for field in given} >= {field.column for field in kept}, (
            f"columns of buffer {subplan.writes} are missing"
        )
        written.add(subplan.writes)


def check_subplan(subplan: Subplan) -> None:
    """Steps use earlier steps only; all buffers read are declared; inputs have the columns read of them."""
    steps: dict[int, tuple[Field, ...]] = {}
    for step in subplan.steps:
        assert step.number not in steps, f"step {step.number} is there twice"
        check_outcome(step.outcome, subplan, steps)
        steps[step.number] = fields(step.outcome)


def check_outcome(outcome: Weighted, subplan: Subplan, steps: Mapping[int, Sequence[Field]]) -> None:
    """What a step computes reads buffers of the subplan, earlier steps by their columns, and its inputs'."""
    for input in inputs(outcome):
        check_outcome(input, subplan, steps)
    match outcome:
        case Read() | StepRef() | Rows():
            _leaf(outcome, subplan, steps)
        case DeltaFilter(condition=condition) | Pairs(condition=condition) | SemiJoin(condition=condition):
            assert condition.type.oid == BOOL, "a condition is no boolean"
            _expressions((condition,), _known(outcome))
        case DeltaProject(columns=computed):
            _expressions((column.value for column in computed), _known(outcome))
        case KeySemiJoin(input=child, of=of, keys=keys):
            assert _types(keys).items() <= _types(fields(child)).items(), "a key is not among the rows"
            assert _types(keys).items() <= _types(fields(of)).items(), "a key is not among what is looked for"
        case Sum(inputs=summands, fields=columns):
            oids = [field.type.oid for field in columns]
            assert all([field.type.oid for field in fields(summand)] == oids for summand in summands), (
                "inputs of a sum differ"
            )
        case PartialAggregate(keys=keys) | Groups(keys=keys):
            assert _types(keys).items() <= _known(outcome).items(), "a key is no column of the input"
        case First(order=order):
            _expressions((column.value for column in order), _known(outcome))
        case Choose(shortcut=shortcut, general=general):
            assert {field.column for field in fields(shortcut)} == {field.column for field in fields(general)}
        case Negate() | Consolidate() | AsSet():
            pass
        case _:
            assert_never(outcome)


def _leaf(outcome: Read | StepRef | Rows, subplan: Subplan, steps: Mapping[int, Sequence[Field]]) -> None:
    match outcome:
        case Read(buffer=buffer, moment=moment):
            is_own_content = buffer == subplan.writes and moment is Moment.BEFORE
            assert is_own_content or buffer in subplan.reads, f"buffer {buffer} is read and not declared"
        case StepRef(step=step, fields=columns):
            assert step in steps, f"step {step} is used before it is there"
            assert _types(columns).items() <= _types(steps[step]).items(), f"columns of step {step} differ"
        case Rows(rows=rows, fields=columns):
            assert all(len(row) == len(columns) for row in rows), "a row has other columns than its fields"
        case _:
            assert_never(outcome)


def _known(outcome: Weighted) -> _Types:
    """The columns of the inputs, by their numbers."""
    return {column: type_ for input in inputs(outcome) for column, type_ in _types(fields(input)).items()}


def _types(columns: Iterable[Field]) -> _Types:
    return {field.column: field.type for field in columns}


def _expressions(expressions: Iterable[Scalar], known: _Types) -> None:
    for expression in expressions:
        for part in inside(expression):
            if isinstance(part, Reference):
                assert part.column in known, f"column {part.column} is read where it is not"
                assert part.type == known[part.column], f"column {part.column} is read with another type"
