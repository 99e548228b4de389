"""Text to statements of ours; everything else is PostgreSQL's and is not parsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from catalog.errors import Error, InTransactionBlock, InvalidParameterValue, MalformedStatement
from dialect.reader import Reader, string_value
from dialect.scan import Token, statements
from dialect.settings import Option, Setting, check_together, known_option, read_setting
from dialect.statements import (
    Alteration,
    AlterStandingQuery,
    ChangeOwner,
    ChangeSchema,
    CommentOnStandingQuery,
    CreateStandingQuery,
    DropStandingQuery,
    ExplainStandingQuery,
    Name,
    Query,
    RefreshStandingQuery,
    Rename,
    ResetOptions,
    Resume,
    SetOptions,
    ShowStandingQueries,
    ShowVersion,
    Statement,
    Suspend,
    VerifyStandingQuery,
)

_OBJECT: Final = ("STANDING", "QUERY")
_ROLE_WORDS: Final = ("CURRENT_ROLE", "CURRENT_USER", "SESSION_USER")
EXPLAIN_OPTIONS: Final = ("ANALYZE", "VERBOSE", "COSTS", "STATE", "SHARING", "CURVE")
EXPLAIN_FORMATS: Final = ("TEXT", "JSON", "DOT")


@dataclass(frozen=True, slots=True)
class Found:
    """A statement of ours, or what is wrong with it, and its place (characters, first token to last)."""

    statement: Statement | Error
    start: int
    end: int


def find_ours(text: str) -> tuple[Found, ...]:
    """Every statement of ours, in order; none where the scanner cannot read the text."""
    found = []
    all_statements = tuple(statements(text))
    for tokens in all_statements:
        parse = parser_for(tokens)
        if parse is None:
            continue
        try:
            statement: Statement | Error = parse(Reader(tokens), text)
            if isinstance(statement, VerifyStandingQuery) and len(all_statements) > 1:
                raise InTransactionBlock("VERIFY STANDING QUERY")
        except Error as error:
            statement = error
        found.append(Found(statement, tokens[0].start, tokens[-1].end))
    return tuple(found)


Parser = Callable[[Reader, str], Statement]


def parser_for(tokens: tuple[Token, ...]) -> Parser | None:
    """Which of our statements this begins; None for PostgreSQL's own."""
    words = tuple(token.word for token in tokens[:5])
    match words:
        case ("CREATE", "STANDING", "QUERY", *_) | ("CREATE", "OR", "REPLACE", "STANDING", "QUERY"):
            return create
        case ("SHOW", "STANDING", "QUERY" | "QUERIES", *_):
            return show
        case ("COMMENT", "ON", "STANDING", "QUERY", *_):
            return comment
        case ("EXPLAIN", *_) if explains_ours(tokens):
            return explain
        case (verb, "STANDING", "QUERY", *_) if verb in _VERBS:
            return _VERBS[verb]
    if len(tokens) == 4 and words[0] == "SHOW" and words[2] == ".":
        named = (tokens[1].folded.lower(), tokens[3].folded.lower())
        return show_version if named == ("gavial", "version") else None
    return None


def explains_ours(tokens: tuple[Token, ...]) -> bool:
    """Whether EXPLAIN, behind its options, is about a standing query."""
    reader = Reader(tokens, 1)
    if reader.accept("("):
        depth = 1
        while depth and reader.next is not None:
            depth += {"(": 1, ")": -1}.get(reader.skip().text, 0)
    while reader.accept("ANALYZE") or reader.accept("VERBOSE"):
        pass
    reader.accept("CREATE")
    reader.accept("OR", "REPLACE")
    return reader.sees(*_OBJECT)


def create(reader: Reader, text: str) -> CreateStandingQuery:
    """CREATE, with its options in front of AS, behind the query, or in both places."""
    reader.expect("CREATE")
    replace = reader.accept("OR", "REPLACE")
    reader.expect(*_OBJECT)
    if_not_exists = not replace and reader.accept("IF", "NOT", "EXISTS")
    name = reader.name()
    columns = column_list(reader) if reader.sees("(") else ()
    settings = option_list(reader) if reader.accept("WITH") else ()
    reader.expect("AS")
    query = query_text(reader, text)
    if reader.sees("WITH", "("):
        reader.expect("WITH")
        settings += option_list(reader)
    with_data = not reader.accept("WITH", "NO", "DATA")
    if with_data:
        reader.accept("WITH", "DATA")
    reader.end()
    check_together(settings)
    return CreateStandingQuery(name, query, columns, settings, replace, if_not_exists, with_data)


def column_list(reader: Reader) -> tuple[str, ...]:
    """`(column, …)`."""
    reader.expect("(")
    columns = [reader.identifier()]
    while reader.accept(","):
        columns.append(reader.identifier())
    reader.expect(")")
    return tuple(columns)


def option_list(reader: Reader) -> tuple[Setting, ...]:
    """`(option [= value], …)`."""
    reader.expect("(")
    settings = [one_setting(reader)]
    while reader.accept(","):
        settings.append(one_setting(reader))
    reader.expect(")")
    return tuple(settings)


def one_setting(reader: Reader) -> Setting:
    """`option [= value]`; an option without a value is switched on."""
    name_position = reader.position
    name = reader.label()
    option = known_option(name, name_position)
    if not reader.accept("="):
        if not (reader.sees(",") or reader.sees(")")):
            reader.fail()
        return switched_on(option, name_position)
    value_position = reader.position
    return read_setting(name, option_value(reader), name_position, value_position)


def switched_on(option: Option, position: int) -> Setting:
    """An option without a value, which only a switch may be."""
    if option.name != "SHARING":
        raise InvalidParameterValue(
            f"option {option.name} requires a value",
            hint=f"{option.name} takes {option.accepted}",
            position=position,
        )
    return read_setting(option.name, "on", position, position)


def option_value(reader: Reader) -> str:
    """A number, a string or a word, as text."""
    sign = "-" if reader.accept("-") else ""
    if not sign:
        reader.accept("+")
    token = reader.next
    if token is None or (sign and token.kind not in ("ICONST", "FCONST")):
        reader.fail()
    if token.kind in ("ICONST", "FCONST"):
        return sign + reader.skip().text
    if token.kind == "SCONST":
        return string_value(reader.skip().text)
    return reader.label()


def query_text(reader: Reader, text: str) -> Query:
    """The SELECT: everything up to our own WITH at the end, or to the end."""
    start = reader.position
    end = start
    depth = 0
    while reader.next is not None:
        if depth == 0 and (
            reader.sees("WITH", "(") or reader.sees("WITH", "DATA") or reader.sees("WITH", "NO", "DATA")
        ):
            break
        token = reader.skip()
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        end = token.end
    if end == start:
        reader.fail()
    return Query(text[start:end], start)


def alter(reader: Reader, _text: str) -> AlterStandingQuery:
    """`ALTER STANDING QUERY [IF EXISTS] name change`."""
    reader.expect("ALTER", *_OBJECT)
    if_exists = reader.accept("IF", "EXISTS")
    name = reader.name()
    change = alteration(reader)
    reader.end()
    return AlterStandingQuery(name, change, if_exists)


def alteration(reader: Reader) -> Alteration:
    """What ALTER does."""
    if reader.accept("SET", "SCHEMA"):
        return ChangeSchema(reader.identifier())
    if reader.accept("SET"):
        settings = option_list(reader)
        check_together(settings)
        return SetOptions(settings)
    if reader.accept("RESET"):
        return ResetOptions(option_names(reader))
    if reader.accept("SUSPEND"):
        return Suspend()
    if reader.accept("RESUME"):
        return Resume()
    if reader.accept("RENAME", "TO"):
        return Rename(reader.identifier())
    reader.expect("OWNER", "TO")
    for word in _ROLE_WORDS:
        if reader.accept(word):
            return ChangeOwner(word, word=True)
    return ChangeOwner(reader.identifier())


def option_names(reader: Reader) -> tuple[str, ...]:
    """`(option, …)`."""
    reader.expect("(")
    names = []
    while True:
        position = reader.position
        names.append(known_option(reader.label(), position).name)
        if not reader.accept(","):
            break
    reader.expect(")")
    return tuple(names)


def drop(reader: Reader, _text: str) -> DropStandingQuery:
    """`DROP STANDING QUERY [IF EXISTS] name [, …] [CASCADE | RESTRICT]`."""
    reader.expect("DROP", *_OBJECT)
    if_exists = reader.accept("IF", "EXISTS")
    names = name_list(reader)
    cascade = reader.accept("CASCADE")
    if not cascade:
        reader.accept("RESTRICT")
    reader.end()
    return DropStandingQuery(names, if_exists, cascade)


def name_list(reader: Reader) -> tuple[Name, ...]:
    """`name [, …]`."""
    names = [reader.name()]
    while reader.accept(","):
        names.append(reader.name())
    return tuple(names)


def refresh(reader: Reader, _text: str) -> RefreshStandingQuery:
    """`REFRESH STANDING QUERY name [, …]`."""
    reader.expect("REFRESH", *_OBJECT)
    names = name_list(reader)
    reader.end()
    return RefreshStandingQuery(names)


def verify(reader: Reader, _text: str) -> VerifyStandingQuery:
    """`VERIFY STANDING QUERY name`."""
    reader.expect("VERIFY", *_OBJECT)
    name = reader.name()
    reader.end()
    return VerifyStandingQuery(name)


def show(reader: Reader, _text: str) -> ShowStandingQueries:
    """`SHOW STANDING QUERIES`, `SHOW STANDING QUERY name`."""
    reader.expect("SHOW", "STANDING")
    name = None if reader.accept("QUERIES") else (reader.skip(), reader.name())[1]
    reader.end()
    return ShowStandingQueries(name)


def show_version(_reader: Reader, _text: str) -> ShowVersion:
    """`SHOW gavial.version`."""
    return ShowVersion()


def comment(reader: Reader, _text: str) -> CommentOnStandingQuery:
    """`COMMENT ON STANDING QUERY name IS { 'text' | NULL }`."""
    reader.expect("COMMENT", "ON", *_OBJECT)
    name = reader.name()
    reader.expect("IS")
    text = None if reader.accept("NULL") else reader.string()
    reader.end()
    return CommentOnStandingQuery(name, text)


def explain(reader: Reader, text: str) -> ExplainStandingQuery:
    """`EXPLAIN [(option, …)] { STANDING QUERY name | CREATE STANDING QUERY … }`."""
    reader.expect("EXPLAIN")
    options: set[str] = set()
    layout = "TEXT"
    if reader.sees("("):
        options, layout = explain_options(reader)
    else:
        for word in ("ANALYZE", "VERBOSE"):
            if reader.accept(word):
                options.add(word)
    if reader.accept(*_OBJECT):
        name = reader.name()
        reader.end()
        return ExplainStandingQuery(name, frozenset(options), layout)
    return ExplainStandingQuery(create(reader, text), frozenset(options), layout)


def explain_options(reader: Reader) -> tuple[set[str], str]:
    """`(option [value], …)`: which are on, and the format."""
    reader.expect("(")
    options: set[str] = set()
    layout = "TEXT"
    while True:
        position = reader.position
        word = reader.label().upper()
        if word == "FORMAT":
            layout = explain_format(reader)
        elif word not in EXPLAIN_OPTIONS:
            raise MalformedStatement(
                f'unrecognized EXPLAIN option "{word.lower()}"',
                hint="known options: " + ", ".join((*EXPLAIN_OPTIONS, "FORMAT")),
                position=position,
            )
        elif explain_switch(reader, word):
            options.add(word)
        else:
            options.discard(word)
        if not reader.accept(","):
            break
    reader.expect(")")
    return options, layout


def explain_format(reader: Reader) -> str:
    """One of the formats."""
    position = reader.position
    value = option_value(reader)
    if value.upper() not in EXPLAIN_FORMATS:
        raise InvalidParameterValue(
            f'unrecognized value for EXPLAIN option "format": "{value}"',
            hint="known formats: " + ", ".join(EXPLAIN_FORMATS),
            position=position,
        )
    return value.upper()


def explain_switch(reader: Reader, word: str) -> bool:
    """The value of a boolean option, on where none is given."""
    if reader.sees(",") or reader.sees(")"):
        return True
    position = reader.position
    match option_value(reader).lower():
        case "on" | "true" | "1":
            return True
        case "off" | "false" | "0":
            return False
        case _:
            raise MalformedStatement(f"{word.lower()} requires a Boolean value", position=position)


_VERBS: Final[dict[str, Parser]] = {"ALTER": alter, "DROP": drop, "REFRESH": refresh, "VERIFY": verify}
