"""Tables as psql prints them."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from rich.box import Box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from proxy.command.output.values import cell_text

_LINES: Final = Box(
    "    \n"
    "  | \n"
    " -+ \n"
    "  | \n"
    " -+ \n"
    " -+ \n"
    "  | \n"
    "    \n",
    ascii=True,
)  # fmt: skip
_WIDE: Final = 10_000
"""Where nobody reads the lines as they are, none is broken."""


def table_of(columns: Sequence[str], rows: Sequence[Sequence[object]], numbers: Sequence[str] = ()) -> Table:
    """A table with a title above each column; those of `numbers` stand at the right."""
    table = Table(box=_LINES, show_edge=False, pad_edge=False, header_style="bold", highlight=False)
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row))
    return table


def properties_of(values: Mapping[str, object]) -> Table:
    """Names and values, one below the other."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in values.items():
        table.add_row(name, _cell(value))
    return table


def show(*shown: RenderableType) -> None:
    """Print tables and texts, one below the other; on a terminal in colour, and broken at its width."""
    terminal = sys.stdout.isatty()
    console = Console(highlight=False, width=None if terminal else _WIDE)
    for renderable in shown:
        if isinstance(renderable, str):
            console.print(renderable, markup=False, soft_wrap=True)
        else:
            _print(console, renderable, terminal)


def _print(console: Console, renderable: RenderableType, terminal: bool) -> None:
    if terminal:
        console.print(renderable)
        return
    console.print(table_text(renderable), markup=False, soft_wrap=True)


def table_text(renderable: RenderableType) -> str:
    """What is printed where nobody reads it on a terminal."""
    console = Console(highlight=False, width=_WIDE, color_system=None, file=io.StringIO())
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _cell(value: object) -> RenderableType:
    return (
        value
        if isinstance(value, Text | Table) or hasattr(value, "__rich_console__")
        else Text(cell_text(value))
    )
