"""What an error means for a standing query, by its SQLSTATE, whether the server raised it or we did."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Consequence(Enum):
    """What is done for a query that has failed."""

    RETRY = "somebody was in the way, or a session broke: it is tried again, and nobody is told"
    REPAIR = "a disk, files or a program are not as they have to be: it is tried again now and then"
    SUSPEND = "its owner has lost a right, or its result was written to: it rests until it is resumed"
    CHANGE = "a table or view that it reads is not what it was: it rests until that is changed, or resumed"
    DATA = "its data have an error: it is tried again when there are newer data"


_CONSEQUENCES: Final[Mapping[str, Consequence]] = {
    **dict.fromkeys(("40001", "40P01", "55P03", "57014"), Consequence.RETRY),
    **dict.fromkeys(("57P01", "57P02", "57P03", "08000", "08003", "08006"), Consequence.RETRY),
    **dict.fromkeys(("53100", "58030", "F0000"), Consequence.REPAIR),
    **dict.fromkeys(("42501", "42809", "55000"), Consequence.SUSPEND),
    **dict.fromkeys(("0A000", "42P22"), Consequence.CHANGE),
}


_OF_VALUES: Final = ("21", "22", "54000")
"""Classes of errors that the values of rows cause, and nothing else."""


def is_of_values(sqlstate: str) -> bool:
    """Whether values of rows cause such an error: then other rows may not have it."""
    return sqlstate.startswith(_OF_VALUES)


def consequence_of(sqlstate: str) -> Consequence:
    """What an error of this state means; of one that is not listed, that the data are to blame."""
    return _CONSEQUENCES.get(sqlstate, Consequence.DATA)
