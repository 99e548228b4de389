"""sqlglot's PostgreSQL, told to keep what it reads as it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from sqlglot import TokenType, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.parsers.postgres import PostgresParser

_SPECIAL_SYNTAX: Final = ("EXTRACT", "NORMALIZE", "OVERLAY", "POSITION", "SUBSTRING", "TRIM")
_JSON_OPERATORS: Final = {
    TokenType.ARROW: (exp.JSONExtract, "->"),
    TokenType.DARROW: (exp.JSONExtractScalar, "->>"),
    TokenType.HASH_ARROW: (exp.JSONBExtract, "#>"),
    TokenType.DHASH_ARROW: (exp.JSONBExtractScalar, "#>>"),
    TokenType.PLACEHOLDER: (exp.JSONBContainsTopKey, "?"),
}


class Plus(exp.Unary):
    """Prefix `+`, which sqlglot itself leaves out."""


_PREFIXES: Final = {
    TokenType.PLUS: (Plus, "+"),
    TokenType.PARAMETER: (exp.Abs, "@"),
    TokenType.PIPE_SLASH: (exp.Sqrt, "|/"),
    TokenType.DPIPE_SLASH: (exp.Cbrt, "||/"),
}
_SQL_VALUES: Final = {
    exp.CurrentCatalog: "CURRENT_CATALOG",
    exp.CurrentRole: "CURRENT_ROLE",
    exp.CurrentSchema: "CURRENT_SCHEMA",
    exp.CurrentTime: "CURRENT_TIME",
    exp.CurrentUser: "CURRENT_USER",
    exp.Localtime: "LOCALTIME",
    exp.SessionUser: "SESSION_USER",
}


def _read_prefix(kind: type[exp.Expr]) -> Callable[[Any], exp.Expr]:
    return lambda parser: parser.expression(kind(this=parser._parse_unary()))


def _read_infix(kind: type[exp.Expr]) -> Callable[[Any, exp.Expr, exp.Expr], exp.Expr]:
    return lambda parser, left, right: parser.expression(kind(this=left, expression=right))


def _write_prefix(symbol: str) -> Callable[[Any, exp.Expr], str]:
    return lambda generator, node: f"({symbol} ({generator.sql(node, 'this')}))"


def _write_infix(symbol: str) -> Callable[[Any, exp.Expr], str]:
    return lambda generator, node: str(generator.binary(node, symbol))


def _write_word(word: str) -> Callable[[Any, exp.Expr], str]:
    return lambda _, __: word


class Canonical(Postgres):
    """Function calls stay calls, operators operators: which one is meant is for the binder to say."""

    INDEX_OFFSET = 0

    class Parser(PostgresParser):
        """Knows no function by name, only the syntax that some have of their own."""

        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {name: PostgresParser.FUNCTION_PARSERS[name] for name in _SPECIAL_SYNTAX}
        UNARY_PARSERS: ClassVar = {
            **PostgresParser.UNARY_PARSERS,
            **{token: _read_prefix(kind) for token, (kind, _) in _PREFIXES.items()},
        }
        JSON_OPERATORS: ClassVar = {token: _read_infix(kind) for token, (kind, _) in _JSON_OPERATORS.items()}

    class Generator(PostgresGenerator):
        """Writes operators as operators."""

        MULTI_ARG_DISTINCT = True  # string_agg(DISTINCT a, ',')
        TRANSFORMS: ClassVar = {
            **PostgresGenerator.TRANSFORMS,
            exp.Pow: _write_infix("^"),
            **{kind: _write_infix(symbol) for kind, symbol in _JSON_OPERATORS.values()},
            **{kind: _write_prefix(symbol) for kind, symbol in _PREFIXES.values()},
            **{kind: _write_word(word) for kind, word in _SQL_VALUES.items()},
        }
