"""Every client-visible error, with its SQLSTATE and what it means for a standing query that it ends.

They are raised anywhere, and rendered by the proxy alone.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from catalog.consequences import Consequence, promise

_NOT_JUDGED: Final = "the query could not be judged"


class Error(Exception):
    """A condition the user can act on; message as PostgreSQL's: lower case, no full stop.

    Each condition is a class with a state, and this one is never raised. `consequence`: what is done for a
    query that ends with it. `of_values`: whether values of rows cause it, and nothing else.
    """

    sqlstate: ClassVar[str]
    consequence: ClassVar[Consequence] = Consequence.DATA
    of_values: ClassVar[bool] = False

    def __init_subclass__(
        cls,
        *,
        sqlstate: str | None = None,
        consequence: Consequence | None = None,
        of_values: bool = False,
    ) -> None:
        if sqlstate is not None:
            cls.sqlstate = sqlstate
        if consequence is not None:
            cls.consequence = consequence
        cls.of_values = of_values
        promise(cls.sqlstate, cls.consequence)

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        position: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.position = position

    def __reduce__(self) -> tuple[Any, ...]:
        """How the error is pickled for another process, whatever its class is made from."""
        return _same, (type(self), self.message), self.__dict__


def _same(kind: type[Error], message: str) -> Error:
    return kind.__new__(kind, message)


class ProtocolViolation(Error, sqlstate="08P01"):
    """The peer sent bytes that the protocol does not allow."""


class ConnectionFailure(Error, sqlstate="08006", consequence=Consequence.RETRY):
    """The upstream server went away while a session was open."""


class FeatureNotSupported(Error, sqlstate="0A000", consequence=Consequence.CHANGE):
    """Valid in PostgreSQL, but cannot pass through Gavial."""


ELSEWHERE: Final = "Keep its value in a column, for example a stored generated one, and read that."
"""The hint where only PostgreSQL computes something."""


class NotMaintainable(FeatureNotSupported):
    """A query with a piece that no rule covers; its place is looked up by the piece's name."""

    def __init__(self, piece: str, *, hint: str | None = None) -> None:
        super().__init__(f"cannot maintain a query with {piece}", hint=hint)
        self.piece = piece


class IndeterminateCollation(FeatureNotSupported, sqlstate="42P22"):
    """Strings are to be compared, and their collations do not say how."""


class InvalidAuthorization(Error, sqlstate="28000"):
    """The connection cannot be authenticated in this way."""


class InvalidPassword(Error, sqlstate="28P01"):
    """The password, or the proof of knowing it, is wrong."""


class TooManyConnections(Error, sqlstate="53300"):
    """The configured number of connections is in use."""


class AdminShutdown(Error, sqlstate="57P01", consequence=Consequence.RETRY):
    """Gavial is stopping."""

    def __init__(self) -> None:
        super().__init__("terminating connection due to administrator command")


class CannotConnectNow(Error, sqlstate="57P03", consequence=Consequence.RETRY):
    """The upstream server does not answer (yet)."""


class CannotJudgeNow(CannotConnectNow):
    """The process or the server that has to be asked whether a query can be kept does not answer."""

    def __init__(self, *, detail: str | None = None) -> None:
        super().__init__(_NOT_JUDGED, detail=detail, hint="Try again." if detail is None else None)


class DiskFull(Error, sqlstate="53100", consequence=Consequence.REPAIR):
    """There is no room for what has to be written."""


class InputOutputError(Error, sqlstate="58030", consequence=Consequence.REPAIR):
    """Files cannot be read or written where they have to be."""


class ConfigurationError(Error, sqlstate="F0000", consequence=Consequence.REPAIR):
    """What the operator asked for cannot be done; printed in one line by the command."""


class InvalidParameterValue(Error, sqlstate="22023", of_values=True):
    """An option of ours has a value that it cannot have, or there is no such option."""


class MalformedStatement(Error, sqlstate="42601"):
    """A statement of ours is not well formed."""


class InTransactionBlock(Error, sqlstate="25001"):
    """A statement that has to be a transaction of its own is part of another one."""

    def __init__(self, tag: str) -> None:
        super().__init__(f"{tag} cannot run inside a transaction block")


class NotPrepared(Error, sqlstate="42501", consequence=Consequence.SUSPEND):
    """The schema `gavial` is missing in a database, and the proxy may not make it."""


class ProgramLimitExceeded(Error, sqlstate="54000", of_values=True):
    """A value would be longer than one can be."""


class StatementTooComplex(Error, sqlstate="54001"):
    """A statement is nested too deeply."""


class CardinalityViolation(Error, sqlstate="21000", of_values=True):
    """A subquery used as a value gave more than one row."""


class NumericValueOutOfRange(Error, sqlstate="22003", of_values=True):
    """A number does not fit its type."""


class DatetimeOverflow(Error, sqlstate="22008", of_values=True):
    """A date or time lies outside what its type holds."""


class SubstringError(Error, sqlstate="22011", of_values=True):
    """A substring of negative length was asked for."""


class DivisionByZero(Error, sqlstate="22012", of_values=True):
    """A division, or a remainder, by zero."""


class InvalidPowerArgument(Error, sqlstate="2201F", of_values=True):
    """A power, or a root, that is no real number."""


class InvalidEscapeSequence(Error, sqlstate="22025", of_values=True):
    """A pattern ends with its escape character."""


class InvalidTextRepresentation(Error, sqlstate="22P02", of_values=True):
    """A text is none of the type it is read as."""


class DamagedBatch(Error, sqlstate="XX001"):
    """A file that the manifest names is missing, or not what was written."""


class ConcurrentChange(Error, sqlstate="40001", consequence=Consequence.RETRY):
    """Somebody drops or alters a standing query, or what it is made of, while the coordinator works on it."""


class Fenced(Error, sqlstate="55006"):
    """Another coordinator has taken this database over."""

    def __init__(self, *, detail: str | None = None) -> None:
        super().__init__("another coordinator has taken this database over", detail=detail)


class CannotConvert(Error, sqlstate="0A000", consequence=Consequence.CHANGE, of_values=True):
    """A value has no counterpart in another type: PostgreSQL's state for that is of a feature it lacks."""


class ValueNotStorable(Error, sqlstate="54000", of_values=True):
    """PostgreSQL holds a value that a batch cannot hold; the message names the column."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(
            f'a value of column "{column}" cannot be stored',
            detail=reason,
            hint="Change the value, or leave the column out of the query.",
        )


class ResultDiffers(Error, sqlstate="55000", consequence=Consequence.SUSPEND):
    """The table of a result does not hold what was published: somebody wrote to it."""


class InternalError(Error, sqlstate="XX000"):
    """A bug of ours."""


class EngineFailed(InternalError):
    """Spark refused a statement of ours."""


class QueryNotJudged(InternalError):
    """The process that judges queries ended before it could, or met a bug."""

    def __init__(self, detail: str) -> None:
        super().__init__(_NOT_JUDGED, detail=detail)


class OutOfMemory(Error, sqlstate="53200"):
    """Spark had less memory than a query needs."""


class EngineLost(OutOfMemory):
    """The process of Spark ended during a run: it had no memory left, or was killed."""


class InsufficientPrivilege(Error, sqlstate="42501", consequence=Consequence.SUSPEND):
    """Gavial's own login lacks a right on the server."""


class ObjectNotInState(Error, sqlstate="55000", consequence=Consequence.SUSPEND):
    """A table, a slot or a server is not in the state that what was asked for needs."""
