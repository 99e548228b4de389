"""Text to statements of ours; everything else is PostgreSQL's and is not parsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from catalog.errors import Error, InTransactionBlock, MalformedStatement
from dialect.statements.option_lists import explain_options, option_list, option_names
from dialect.statements.options import check_together
from dialect.statements.reader import Reader
from dialect.statements.statement import (
    EXPLAIN_BY_DEFAULT,
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
from dialect.statements.tokens import Token, statements, unreadable

_OBJECT: Final = ("STANDING", "QUERY")
_ROLE_WORDS: Final = ("CURRENT_ROLE", "CURRENT_USER", "SESSION_USER")


@dataclass(frozen=True, slots=True)
class Found:
    """A statement of ours, or what is wrong with it, and its place (characters, first token to last)."""

    statement: Statement | Error
    start: int
    end: int


def find_ours(text: str) -> tuple[Found, ...]:
    """Every statement of ours, in order; one error for a text that cannot be read from within one of them."""
    gavial_statements = []
    all_statements = tuple(statements(text))
    if not all_statements and (error := unreadable_in_ours(text)) is not None:
        return (Found(error, 0, len(text)),)
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
        gavial_statements.append(Found(statement, tokens[0].start, tokens[-1].end))
    return tuple(gavial_statements)


def unreadable_in_ours(text: str) -> MalformedStatement | None:
    """The scanner's error in a statement of ours; as in PostgreSQL, nothing of the text is run then."""
    problem = unreadable(text)
    if problem is None:
        return None
    message, place = problem
    before = tuple(statements(text[:place]))
    if not before or parser_for(before[-1]) is None:
        return None
    hint = (
        "Write a number with a unit in quotes, such as '512MB'." if "junk after numeric" in message else None
    )
    return MalformedStatement(message, hint=hint, position=place)


Parser = Callable[[Reader, str], Statement]


def is_query(word: str) -> bool:
    """Whether this is the word QUERY, or a misspelling of it that our own error shall answer."""
    return bool(get_close_matches(word, (_OBJECT[1],)))


def parser_for(tokens: tuple[Token, ...]) -> Parser | None:
    """Which of our statements this begins; None for what PostgreSQL itself is to run or to refuse."""
    words = tuple(token.word for token in tokens[:5])
    match words:
        case ("CREATE", "STANDING", noun, *_) if is_query(noun):
            return create
        case ("CREATE", "OR", "REPLACE", "STANDING", noun) if is_query(noun):
            return create
        case ("SHOW", "STANDING", "QUERY" | "QUERIES", *_):
            return show
        case ("COMMENT", "ON", "STANDING", noun, *_) if is_query(noun):
            return comment
        case ("EXPLAIN", *_) if explains_ours(tokens):
            return explain
        case (verb, "STANDING", noun, *_) if verb in _VERBS and is_query(noun):
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
    return CreateStandingQuery(
        name=name,
        query=query,
        columns=columns,
        settings=settings,
        replace=replace,
        if_not_exists=if_not_exists,
        with_data=with_data,
    )


def column_list(reader: Reader) -> tuple[str, ...]:
    """`(column, …)`."""
    reader.expect("(")
    columns = [reader.identifier()]
    while reader.accept(","):
        columns.append(reader.identifier())
    reader.expect(")")
    return tuple(columns)


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
    """`VERIFY STANDING QUERY name [USING SPARK | POSTGRES]`."""
    reader.expect("VERIFY", *_OBJECT)
    name = reader.name()
    using = _compared_with(reader) if reader.accept("USING") else None
    reader.end()
    return VerifyStandingQuery(name, using)


def _compared_with(reader: Reader) -> str:
    """What a result is verified with; the choices are named where it is none of them."""
    for word in COMPARED_WITH:
        if reader.accept(word):
            return word
    try:
        reader.fail()
    except MalformedStatement as error:
        error.hint = f"USING takes {' or '.join(COMPARED_WITH)}."
        raise


def show(reader: Reader, _text: str) -> ShowStandingQueries:
    """`SHOW STANDING QUERIES [VERBOSE]`, `SHOW STANDING QUERY name`."""
    reader.expect("SHOW", "STANDING")
    if reader.accept("QUERIES"):
        shown = ShowStandingQueries(None, reader.accept("VERBOSE"))
    else:
        reader.skip()
        shown = ShowStandingQueries(reader.name())
    reader.end()
    return shown


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
    options = set(EXPLAIN_BY_DEFAULT)
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


COMPARED_WITH: Final = ("POSTGRES", "SPARK")
"""What VERIFY may compare a result with."""

_VERBS: Final[dict[str, Parser]] = {"ALTER": alter, "DROP": drop, "REFRESH": refresh, "VERIFY": verify}
