"""Random expressions over `bound.things`, most of them of the type asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial

from hypothesis import strategies as st

from catalog.postgres.schema import Table
from catalog.postgres.signatures import FunctionSignature, OperatorSignature, Signatures
from catalog.postgres.types import (
    BOOL,
    BPCHAR,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
)

LITERALS = {
    BOOL: "true",
    BPCHAR: "abc",
    DATE: "2020-02-29",
    FLOAT4: "1.5",
    FLOAT8: "NaN",
    INT2: "7",
    INT4: "-1",
    INT8: "42",
    INTERVAL: "1 mon 2 days",
    JSONB: '{"a": 1}',
    NUMERIC: "1.50",
    TEXT: "it''s",
    TIME: "12:30:00",
    TIMESTAMP: "2020-01-01 00:00:00",
    TIMESTAMPTZ: "2020-01-01 00:00:00+00",
    UUID: "6dd5aa2a-8d3e-4c3c-9e51-7cde4a1f3c2b",
    VARCHAR: "x\\y",
}
UNTYPED = ("1", "1.5", "12345678901", "'1'", "null", "true", "1e3")
MODIFIED = {
    BPCHAR: ("character(3)", "character(10)"),
    INTERVAL: ("interval day to second", "interval year"),
    NUMERIC: ("numeric(10,2)", "numeric(5)"),
    TIME: ("time(2)",),
    TIMESTAMP: ("timestamp(0)", "timestamp(3)"),
    TIMESTAMPTZ: ("timestamptz(3)",),
    VARCHAR: ("varchar(3)", "varchar(10)"),
}
KIN = ((INT2, INT4, INT8, NUMERIC, FLOAT4, FLOAT8), (TEXT, VARCHAR, BPCHAR), (DATE, TIMESTAMP, TIMESTAMPTZ))
FIELDS = ("year", "epoch", "dow", "hour")


@dataclass(frozen=True)
class Call:
    """Something to apply: its name, the types it takes, and how it is written."""

    name: str
    arguments: tuple[int, ...]
    written: str

    def of(self, arguments: list[str]) -> str:
        return self.written.format(*(f"({argument})" for argument in arguments))


class Expressions:
    """Draws expressions; what there is to apply is a snapshot's."""

    def __init__(self, signatures: Signatures, table: Table) -> None:
        self._names = {oid: signatures.types[oid].name for oid in LITERALS}
        self._columns = {
            oid: [f"t.{column.name}" for column in table.columns if column.type.oid == oid]
            for oid in LITERALS
        }
        functions = [
            function
            for group in signatures.functions.values()
            for function in group
            if not function.returns_set
        ]
        calls = [
            (operator.result, _operator(operator))
            for group in signatures.operators.values()
            for operator in group
        ]
        calls += [
            (function.result, _function(function)) for function in functions if function.kind == "function"
        ]
        self._calls = _known(calls)
        self._aggregates = _known(
            (function.result, _function(function)) for function in functions if function.kind == "aggregate"
        )

    @cache  # noqa: B019
    def any(self, depth: int, *, grouped: bool = False) -> st.SearchStrategy[str]:
        """An expression of any type."""
        return st.sampled_from(sorted(LITERALS)).flatmap(lambda oid: self.of(oid, depth, grouped=grouped))

    @cache  # noqa: B019
    def of(self, oid: int, depth: int, *, grouped: bool = False) -> st.SearchStrategy[str]:
        """An expression meant to be of this type; its columns stand in aggregates in a grouped query."""
        if depth == 0:
            return self._aggregate(oid) if grouped else self._leaf(oid)
        inner = partial(self.of, depth=depth - 1, grouped=grouped)
        return st.one_of(
            self._leaf(oid) if not grouped else self._aggregate(oid),
            self._call(self._calls.get(oid, []), inner, oid),
            self._call(self._calls.get(oid, []), inner, oid),
            st.builds("({})::{}".format, self.any(depth - 1, grouped=grouped), self._type(oid)),
            st.builds("coalesce({}, {})".format, inner(oid), self._near(oid, inner)),
            st.builds("nullif({}, {})".format, inner(oid), self._near(oid, inner)),
            st.builds("{}({}, {})".format, st.sampled_from(("greatest", "least")), inner(oid), inner(oid)),
            st.builds(
                "CASE WHEN {} THEN {} ELSE {} END".format, inner(BOOL), inner(oid), self._near(oid, inner)
            ),
            st.builds("CASE {} WHEN {} THEN {} END".format, inner(TEXT), self._near(TEXT, inner), inner(oid)),
            st.builds(
                "({})[{}]".format, st.builds("ARRAY[{}, {}]".format, inner(oid), inner(oid)), inner(INT4)
            ),
            *(self._truths(inner) if oid == BOOL else ()),
            *((st.builds('({}) COLLATE "C"'.format, inner(oid)),) if oid in (TEXT, VARCHAR, BPCHAR) else ()),
            *(
                (st.builds("extract({} FROM {})".format, st.sampled_from(FIELDS), inner(DATE)),)
                if oid == NUMERIC
                else ()
            ),
        )

    def _truths(self, inner: Inner) -> tuple[st.SearchStrategy[str], ...]:
        pair = st.sampled_from(sorted(LITERALS)).flatmap(
            lambda oid: st.tuples(inner(oid), self._near(oid, inner))
        )
        return (
            pair.map("({0[0]}) IS DISTINCT FROM ({0[1]})".format),
            pair.map("({0[0]}) IN ({0[1]}, {0[0]})".format),
            pair.map("({0[0]}) BETWEEN ({0[1]}) AND ({0[0]})".format),
            pair.map("({0[0]}) = ANY (ARRAY[{0[1]}])".format),
            pair.map("({0[0]}) IS NULL".format),
            pair.map("({0[0]}) = (SELECT {0[1]})".format),
            pair.map("({0[0]}) IN (SELECT {0[1]} UNION SELECT {0[0]})".format),
            st.builds("({}) IS NOT TRUE".format, inner(BOOL)),
            st.builds("({}) AND NOT ({})".format, inner(BOOL), inner(BOOL)),
            st.builds("({}) NOT LIKE ({})".format, inner(TEXT), inner(VARCHAR)),
        )

    def _leaf(self, oid: int) -> st.SearchStrategy[str]:
        typed = f"'{LITERALS[oid]}'::{self._names[oid]}"
        return st.sampled_from([*self._columns[oid], *self._columns[oid], typed])

    def _near(self, oid: int, inner: Inner) -> st.SearchStrategy[str]:
        """Mostly of the type, now and then of a kin or a bare literal: what implicit casts are for."""
        kin = next((group for group in KIN if oid in group), (oid,))
        return st.one_of(inner(oid), st.sampled_from(kin).flatmap(inner), st.sampled_from(UNTYPED))

    def _type(self, oid: int) -> st.SearchStrategy[str]:
        return st.sampled_from([self._names[oid], *MODIFIED.get(oid, ())])

    def _call(self, calls: list[Call], inner: Inner, oid: int) -> st.SearchStrategy[str]:
        if not calls:
            return self._leaf(oid)
        return st.sampled_from(calls).flatmap(
            lambda call: st.tuples(*(self._near(argument, inner) for argument in call.arguments)).map(
                lambda arguments: call.of(list(arguments))
            )
        )

    def _aggregate(self, oid: int) -> st.SearchStrategy[str]:
        plain = self._call(self._aggregates.get(oid, []), self._leaf, oid)
        if not self._aggregates.get(oid):
            return st.builds("min({})::{}".format, self._leaf(TEXT), st.just(self._names[oid]))
        return st.one_of(plain, st.builds("{} FILTER (WHERE {})".format, plain, self._leaf(BOOL)))


Inner = Callable[[int], st.SearchStrategy[str]]


def _operator(operator: OperatorSignature) -> Call:
    if operator.left:
        return Call(operator.name, (operator.left, operator.right), f"{{0}} {operator.name} {{1}}")
    return Call(operator.name, (operator.right,), f"{operator.name} {{0}}")


def _function(function: FunctionSignature) -> Call:
    places = ", ".join(f"{{{number}}}" for number in range(len(function.arguments)))
    return Call(function.name, function.arguments, f'"{function.name}"({places})')


def _known(calls: Iterable[tuple[int, Call]]) -> dict[int, list[Call]]:
    """By result, those whose types are all known here."""
    known: dict[int, list[Call]] = defaultdict(list)
    for result, call in calls:
        if all(oid in LITERALS for oid in call.arguments):
            known[result].append(call)
    return known
