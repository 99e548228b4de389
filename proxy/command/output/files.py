"""Where output goes: a file, if one is named."""

from __future__ import annotations

from pathlib import Path

import click

from catalog.errors import ConfigurationError


def deliver(text: str, file: Path | None) -> None:
    """Print a text, or write it into a file."""
    if file is None:
        click.echo(text)
        return
    try:
        file.write_text(f"{text.rstrip()}\n")
    except OSError as error:
        raise ConfigurationError(f"cannot write {file}: {error.strerror}") from None
