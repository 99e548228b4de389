"""Functions of text and bytea."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from catalog.postgres.storage import Plain
from catalog.postgres.types import C_COLLATIONS, TEXT, VARCHAR
from dialect.expressions.scalar import Call, Constant
from dialect.expressions.storages import unsupported
from dialect.spark.rendered import Builder, Rendered, failing, text_literal

_MOST: Final = 2**31 - 1
_LONGEST: Final = 10_000_000


def _template(template: str, storage: Plain = Plain.TEXT) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        return Rendered(template.format(*(argument.sql for argument in arguments)), storage)

    return build


def _like(*, negated: bool) -> Builder:
    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        value = arguments[0].sql
        match call.arguments[1]:
            case Constant(text=None):
                return Rendered("CAST(NULL AS BOOLEAN)", Plain.BOOLEAN)
            case Constant(text=str(pattern)):
                word = "NOT LIKE" if negated else "LIKE"
                return Rendered(f"({value} {word} {text_literal(_pattern(pattern))})", Plain.BOOLEAN)
        raise unsupported("LIKE with a pattern that is no constant")

    return build


def _pattern(pattern: str) -> str:
    """The pattern with escapes only where Spark allows them."""
    written, characters = [], iter(pattern)
    for character in characters:
        if character != "\\":
            written.append(character)
            continue
        escaped = next(characters, None)
        if escaped is None:
            raise unsupported("a LIKE pattern that ends with its escape character")
        written.append(f"\\{escaped}" if escaped in "%_\\" else escaped)
    return "".join(written)


def _cased(source: str, target: str) -> Builder:
    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        if call.collation not in C_COLLATIONS:
            raise unsupported(
                f"{call.name} under another collation than C", 'Add COLLATE "C" to its argument.'
            )
        return Rendered(f"translate({arguments[0].sql}, '{source}', '{target}')", Plain.TEXT)

    return build


def _substring(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    """So many characters from the start, which may lie before the text."""
    value, start = arguments[0].sql, arguments[1].sql
    first = f"CASE WHEN {start} < 1 THEN 1 ELSE {start} END"
    if len(arguments) == 2:
        return Rendered(f"substring({value}, {first}, {_MOST})", Plain.TEXT)
    length = arguments[2].sql
    end = f"(CAST({start} AS BIGINT) + {length})"
    width = f"({end} - ({first}))"
    count = f"CASE WHEN {width} < 0 THEN 0 WHEN {width} > {_MOST} THEN {_MOST} ELSE {width} END"
    cut = f"substring({value}, {first}, CAST({count} AS INT))"
    negative = f"{length} < 0 AND {value} IS NOT NULL AND {start} IS NOT NULL"
    return Rendered(failing(negative, "22011", "negative substring length not allowed", cut), Plain.TEXT)


def _left(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    value, count = (argument.sql for argument in arguments)
    kept = f"CASE WHEN {count} < 0 THEN char_length({value}) + {count} ELSE {count} END"
    return Rendered(f"left({value}, {kept})", Plain.TEXT)


def _right(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    value, count = (argument.sql for argument in arguments)
    skipped = f"CASE WHEN {count} < 0 THEN 1L - {count} ELSE char_length({value}) - {count} + 1L END"
    # The smallest integer has no negative: PostgreSQL takes it for itself and leaves all of the text.
    skipped = f"CASE WHEN {count} = {-_MOST - 1} THEN 1L ELSE {skipped} END"
    first = f"CASE WHEN {skipped} < 1 THEN 1 WHEN {skipped} > {_MOST} THEN {_MOST} ELSE {skipped} END"
    return Rendered(f"substring({value}, CAST({first} AS INT), {_MOST})", Plain.TEXT)


def _padding(function: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        value, length, *fill = (argument.sql for argument in arguments)
        padding = fill[0] if fill else "' '"
        # Without anything to fill with, what is too short stays so.
        cut = f"CASE WHEN char_length({padding}) = 0 THEN left({value}, {length}) "
        filled = _bounded((value, padding), length, f"{function}({value}, {length}, {padding})")
        return Rendered(f"{cut}ELSE {filled} END", Plain.TEXT)

    return build


def _repeated(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    value, count = (argument.sql for argument in arguments)
    length = f"(CAST({count} AS BIGINT) * octet_length({value}))"
    return Rendered(_bounded((value,), length, f"repeat({value}, {count})"), Plain.TEXT)


def _bounded(parts: Sequence[str], length: str, text: str) -> str:
    """The text made of the parts, if it is not so long that it would take the memory of everybody."""
    known = "".join(f" AND {part} IS NOT NULL" for part in parts)
    return failing(f"{length} > {_LONGEST}{known}", "54000", "requested length too large", text)


def _concatenated(call: Call, arguments: Sequence[Rendered]) -> Rendered:
    if any(argument.type.oid not in (TEXT, VARCHAR) for argument in call.arguments):
        raise unsupported(f"{call.name} of other values than texts", "Cast them to text.")
    parts = ", ".join(f"coalesce({argument.sql}, '')" for argument in arguments)
    return Rendered(f"concat({parts})", Plain.TEXT)


WITH_BLANKS: Final = frozenset((1631, 1632))
"""The functions of bpchar for which the blanks at its end count."""

TEXTS: Final[Mapping[int, Builder]] = {
    1258: _template("concat({}, {})"),
    3058: _concatenated,
    **dict.fromkeys((1257, 1317, 1369, 1381, 1318, 1367, 1372), _template("char_length({})", Plain.INT32)),
    **dict.fromkeys((1374, 720, 2010), _template("octet_length({})", Plain.INT32)),
    2011: _template("concat({}, {})", Plain.BYTES),
    870: _cased(ascii_uppercase, ascii_lowercase),
    871: _cased(ascii_lowercase, ascii_uppercase),
    **dict.fromkeys((850, 1569, 1631), _like(negated=False)),
    **dict.fromkeys((851, 1570, 1632), _like(negated=True)),
    **dict.fromkeys((877, 883, 936, 937), _substring),
    **dict.fromkeys((849, 868), _template("locate({1}, {0})", Plain.INT32)),
    **dict.fromkeys((873, 879), _padding("lpad")),
    **dict.fromkeys((874, 880), _padding("rpad")),
    881: _template("ltrim({})"),
    882: _template("rtrim({})"),
    885: _template("trim({})"),
    875: _template("trim(LEADING {1} FROM {0})"),
    876: _template("trim(TRAILING {1} FROM {0})"),
    884: _template("trim(BOTH {1} FROM {0})"),
    2087: _template("replace({}, {}, {})"),
    878: _template("translate({}, {}, {})"),
    3060: _left,
    3061: _right,
    3062: _template("reverse({})"),
    1622: _repeated,
    3696: _template("startswith({}, {})", Plain.BOOLEAN),
    2311: _template("md5({})"),
}
