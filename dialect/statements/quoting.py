"""Names and strings as SQL in which nothing ends them early."""

from __future__ import annotations

from dialect.statements.statement import Name


def quoted_name(name: Name) -> str:
    """A name as PostgreSQL reads it back, whatever is in it."""
    return quoted(name.name) if name.schema is None else f"{quoted(name.schema)}.{quoted(name.name)}"


def quoted(identifier: str) -> str:
    """One identifier, always in quotes: no list of keywords can be out of date."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str | None) -> str:
    """A string constant that means the same under every setting of standard_conforming_strings."""
    if text is None:
        return "NULL"
    doubled = text.replace("'", "''")
    return f"E'{doubled.replace(chr(92), chr(92) * 2)}'" if "\\" in text else f"'{doubled}'"
