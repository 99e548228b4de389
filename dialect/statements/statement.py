"""One frozen class per statement of ours: what was said, before anyone asks whether it can be done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dialect.statements.options import Setting


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier, qualified or not, already folded; and where it stands (characters)."""

    schema: str | None
    name: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """The SELECT of a standing query as the client wrote it, and where it begins."""

    text: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class CreateStandingQuery:
    """`CREATE [OR REPLACE] STANDING QUERY [IF NOT EXISTS] …`."""

    name: Name
    query: Query
    columns: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    replace: bool = False
    if_not_exists: bool = False
    with_data: bool = True


@dataclass(frozen=True, slots=True)
class SetOptions:
    """`SET (option = value, …)`."""

    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class ResetOptions:
    """`RESET (option, …)`; the names are known ones, in upper case."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suspend:
    """`SUSPEND`."""


@dataclass(frozen=True, slots=True)
class Resume:
    """`RESUME`."""


@dataclass(frozen=True, slots=True)
class Rename:
    """`RENAME TO new`."""

    new: str


@dataclass(frozen=True, slots=True)
class ChangeOwner:
    """`OWNER TO role`; the role may be a word such as CURRENT_USER, kept apart from a role of that name."""

    role: str
    word: bool = False


@dataclass(frozen=True, slots=True)
class ChangeSchema:
    """`SET SCHEMA schema`."""

    schema: str


Alteration: TypeAlias = SetOptions | ResetOptions | Suspend | Resume | Rename | ChangeOwner | ChangeSchema


@dataclass(frozen=True, slots=True)
class AlterStandingQuery:
    """`ALTER STANDING QUERY [IF EXISTS] name …`."""

    name: Name
    change: Alteration
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropStandingQuery:
    """`DROP STANDING QUERY [IF EXISTS] name [, …] [CASCADE | RESTRICT]`."""

    names: tuple[Name, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class RefreshStandingQuery:
    """`REFRESH STANDING QUERY name [, …]`."""

    names: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class VerifyStandingQuery:
    """`VERIFY STANDING QUERY name [USING SPARK | POSTGRES]`."""

    name: Name
    using: str | None = None


@dataclass(frozen=True, slots=True)
class ShowStandingQueries:
    """`SHOW STANDING QUERIES [VERBOSE]`, or `SHOW STANDING QUERY name`."""

    name: Name | None = None
    verbose: bool = False


@dataclass(frozen=True, slots=True)
class ShowVersion:
    """`SHOW gavial.version`: one row, one column, the version that is running."""


EXPLAIN_BY_DEFAULT: Final = frozenset({"COSTS"})
"""Options of EXPLAIN that are on where they are not given."""
EXPLAIN_WITHOUT_EFFECT: Final = ("SHARING",)
"""Options of EXPLAIN that have nothing to show yet."""


@dataclass(frozen=True, slots=True)
class ExplainStandingQuery:
    """`EXPLAIN [(option, …)] { STANDING QUERY name | CREATE STANDING QUERY … }`: the options that are on."""

    target: Name | CreateStandingQuery
    options: frozenset[str] = EXPLAIN_BY_DEFAULT
    format: str = "TEXT"


@dataclass(frozen=True, slots=True)
class CommentOnStandingQuery:
    """`COMMENT ON STANDING QUERY name IS { 'text' | NULL }`."""

    name: Name
    text: str | None


Statement: TypeAlias = (
    CreateStandingQuery
    | AlterStandingQuery
    | DropStandingQuery
    | RefreshStandingQuery
    | VerifyStandingQuery
    | ShowStandingQueries
    | ShowVersion
    | ExplainStandingQuery
    | CommentOnStandingQuery
)
