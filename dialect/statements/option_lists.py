"""Lists of options in parentheses: those of a standing query, and EXPLAIN's."""

from __future__ import annotations

from typing import Final

from catalog.errors import InvalidParameterValue, MalformedStatement
from dialect.statements.options import Option, Setting, known_option, read_setting
from dialect.statements.reader import Reader
from dialect.statements.statement import EXPLAIN_BY_DEFAULT

EXPLAIN_OPTIONS: Final = ("ANALYZE", "VERBOSE", "COSTS", "STATE", "SHARING", "CURVE")
EXPLAIN_FORMATS: Final = ("TEXT", "JSON", "DOT")


def option_list(reader: Reader) -> tuple[Setting, ...]:
    """`(option [= value], …)`."""
    open_options(reader, "(FINAL_WORK = 0.05)")
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
    return read_setting(name, reader.value(), name_position, value_position)


def switched_on(option: Option, position: int) -> Setting:
    """An option without a value, which only a switch may be."""
    if option.name != "SHARING":
        raise InvalidParameterValue(
            f"option {option.name} requires a value",
            hint=f"{option.name} takes {option.accepted}.",
            position=position,
        )
    return read_setting(option.name, "on", position, position)


def option_names(reader: Reader) -> tuple[str, ...]:
    """`(option, …)`."""
    open_options(reader, "(FINAL_WORK)")
    names = []
    while True:
        position = reader.position
        names.append(known_option(reader.label(), position).name)
        if not reader.accept(","):
            break
    reader.expect(")")
    return tuple(names)


def open_options(reader: Reader, example: str) -> None:
    """The parenthesis in front of options, which many forget."""
    try:
        reader.expect("(")
    except MalformedStatement as error:
        error.hint = f"Options stand in parentheses, such as {example}."
        raise


def explain_options(reader: Reader) -> tuple[set[str], str]:
    """`(option [value], …)`: which are on, and the format."""
    reader.expect("(")
    options = set(EXPLAIN_BY_DEFAULT)
    layout = "TEXT"
    curve_position = 0
    while True:
        position = reader.position
        word = reader.label().upper()
        if word == "FORMAT":
            layout = explain_format(reader)
        elif word not in EXPLAIN_OPTIONS:
            raise MalformedStatement(
                f'unrecognized EXPLAIN option "{word.lower()}"',
                hint="The options are " + ", ".join((*EXPLAIN_OPTIONS, "FORMAT")) + ".",
                position=position,
            )
        elif explain_switch(reader, word):
            options.add(word)
            curve_position = position if word == "CURVE" else curve_position
        else:
            options.discard(word)
        if not reader.accept(","):
            break
    reader.expect(")")
    if "CURVE" in options and "COSTS" not in options:
        raise InvalidParameterValue(
            "EXPLAIN option CURVE requires COSTS",
            hint="Leave out COSTS off: the curve shows nothing but costs.",
            position=curve_position,
        )
    return options, layout


def explain_format(reader: Reader) -> str:
    """One of the formats."""
    position = reader.position
    value = reader.value()
    if value.upper() not in EXPLAIN_FORMATS:
        raise InvalidParameterValue(
            f'unrecognized value for EXPLAIN option "format": "{value}"',
            hint="The formats are " + ", ".join(EXPLAIN_FORMATS) + ".",
            position=position,
        )
    return value.upper()


def explain_switch(reader: Reader, word: str) -> bool:
    """The value of a boolean option, on where none is given."""
    if reader.sees(",") or reader.sees(")"):
        return True
    position = reader.position
    match reader.value().lower():
        case "on" | "true" | "1":
            return True
        case "off" | "false" | "0":
            return False
        case _:
            raise MalformedStatement(f"{word.lower()} requires a Boolean value", position=position)
