"""The options of a standing query: names, accepted values, defaults, and what is said about wrong ones.

One table, `OPTIONS`, is the truth: CREATE and ALTER read values by it, the documentation prints it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Final, TypeAlias

from catalog.errors import InvalidParameterValue
from dialect.statements.durations import parse_span
from dialect.statements.expectations import ACCEPTED, read_expectations
from dialect.statements.sizes import parse_budget
from dialect.statements.triggers import parse_trigger

Value: TypeAlias = bool | int | str
"""What is stored: JSON can hold it, and it means the same to every reader."""


@dataclass(frozen=True, slots=True)
class Setting:
    """An option with its value in canonical form, and where its name stands in the text."""

    name: str
    value: Value
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Option:
    """One option: how a value is read, what is accepted, and what holds when none is given.

    `works`: whether it has an effect; one that has none yet is kept with the query, and this is said.
    """

    name: str
    read: Callable[[str], Value]
    accepted: str
    default: str
    meaning: str
    works: bool = True


SMALLEST_SHARE: Final = Decimal("1e-300")


def plain(text: str) -> str:
    """A number's text, unless it has what Python reads in numbers and PostgreSQL does not."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return text


def number_between(least: Decimal, most: Decimal) -> Callable[[str], Value]:
    """How a number is read that is neither less nor more."""

    def read(text: str) -> Value:
        try:
            number = Decimal(plain(text))
        except InvalidOperation:
            raise ValueError(text) from None
        if not number.is_finite() or not least <= number <= most:
            raise ValueError(text)
        return format(number.normalize(), "f")

    return read


def read_max_pace(text: str) -> Value:
    """A whole number of runs."""
    runs = int(plain(text))
    if not 1 <= runs <= MOST_RUNS:
        raise ValueError(text)
    return runs


def read_switch(text: str) -> Value:
    """What PostgreSQL takes for a boolean."""
    match text.strip().lower():
        case "on" | "true" | "yes" | "1":
            return True
        case "off" | "false" | "no" | "0":
            return False
        case _:
            raise ValueError(text)


def read_group(text: str) -> Value:
    """A name, in the case in which it is written."""
    if not 1 <= len(text.encode()) <= 63 or "\0" in text:
        raise ValueError(text)
    return text


def one_of(words: tuple[str, ...]) -> Callable[[str], Value]:
    """How one of these words is read, in any case."""

    def read(text: str) -> Value:
        if text.lower() not in words:
            raise ValueError(text)
        return text.lower()

    return read


MOST_RUNS: Final = 100_000
METHODS: Final = ("auto", "linear", "combine", "recompute")
PACES: Final = ("auto", "uniform", "leaf")

OPTIONS: Final = {
    option.name: option
    for option in (
        Option(
            "FINAL_WORK",
            number_between(SMALLEST_SHARE, Decimal(1)),
            "a number greater than 0 and at most 1, such as 0.05",
            "1",
            "highest share of one batch's work that may be left when the trigger fires",
        ),
        Option(
            "LATENCY_GOAL",
            parse_span,
            "a positive interval with its unit, such as '5 s'",
            "none",
            "the same wish in time; excludes FINAL_WORK",
        ),
        Option(
            "MEMORY_BUDGET",
            parse_budget,
            "a size with its unit, such as '512MB', 0, or 'unlimited'",
            "unlimited",
            "size of what is kept between runs to look rows up by key: what saves most is kept",
        ),
        Option(
            "TRIGGER",
            parse_trigger,
            "'every 10 minutes', 'every 1000000 rows', 'at 06:00', cron text such as '0 6 * * 1', "
            "'on demand', or several joined by 'or'",
            "on demand",
            "when the result is due",
        ),
        Option(
            "EXPECT",
            read_expectations,
            ACCEPTED,
            "forecast",
            "rows expected until the trigger, when the forecast should not be used",
        ),
        Option(
            "MAX_PACE",
            read_max_pace,
            f"a whole number from 1 to {MOST_RUNS}",
            "100",
            "the most runs per trigger that any part of the query may make",
        ),
        Option(
            "MAX_COST",
            number_between(Decimal(1), Decimal(MOST_RUNS)),
            f"a number from 1 to {MOST_RUNS}, such as 3",
            "3",
            "how many times the work of one batch all runs until the trigger may take",
        ),
        Option(
            "PACES",
            one_of(PACES),
            "one of " + ", ".join(PACES),
            "auto",
            "forced for comparison: one pace for the whole query, or one for each path from a table",
        ),
        Option(
            "METHOD",
            one_of(METHODS),
            "one of " + ", ".join(METHODS),
            "auto",
            "forced for comparison: the incremental method of all parts that can take it",
        ),
        Option(
            "PUBLISH_GROUP",
            read_group,
            "a name of 1 to 63 bytes",
            "none",
            "queries of one owner with the same name are published together, at one position",
        ),
        Option(
            "SHARING",
            read_switch,
            "on or off",
            "on",
            "whether work may be shared with other queries (no effect yet)",
            works=False,
        ),
    )
}


def without_effect(settings: tuple[Setting, ...]) -> tuple[str, ...]:
    """The names of the options among these that have no effect yet."""
    return tuple(setting.name for setting in settings if not OPTIONS[setting.name].works)


def known_option(name: str, position: int) -> Option:
    """The option of this name, in any case; the nearest known name is offered for any other."""
    option = OPTIONS.get(name.upper())
    if option is None:
        nearest = get_close_matches(name.upper(), OPTIONS, n=1)
        known = f"Perhaps you meant {nearest[0]}." if nearest else ""
        hint = known or f"The options are {', '.join(OPTIONS)}."
        raise InvalidParameterValue(f'unrecognized option "{name}"', hint=hint, position=position)
    return option


def read_setting(name: str, value: str, name_position: int, value_position: int) -> Setting:
    """An option with its value, read."""
    option = known_option(name, name_position)
    try:
        return Setting(option.name, option.read(value), name_position)
    except ValueError:
        raise InvalidParameterValue(
            f'invalid value for option {option.name}: "{value}"',
            hint=f"{option.name} takes {option.accepted}.",
            position=value_position,
        ) from None


def check_together(settings: tuple[Setting, ...]) -> None:
    """Refuse an option given twice, and options that exclude each other."""
    given: set[str] = set()
    for setting in settings:
        if setting.name in given:
            raise InvalidParameterValue(
                f"option {setting.name} specified more than once", position=setting.position
            )
        given.add(setting.name)
        if {"FINAL_WORK", "LATENCY_GOAL"} <= given:
            raise InvalidParameterValue(
                "FINAL_WORK and LATENCY_GOAL exclude each other",
                hint="Give one of them.",
                position=setting.position,
            )
