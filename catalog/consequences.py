"""What an error means for a standing query, by its SQLSTATE, whether the server raised it or we did.

The classes of `catalog/errors.py` say it of theirs; here it is said of the states that only the server has.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Consequence(Enum):
    """What is done for a query that has failed."""

    RETRY = "somebody was in the way, or a session broke: it is tried again, and nobody is told"
    REPAIR = "a disk, files or a program are not as they have to be: it is tried again now and then"
    SUSPEND = "its owner has lost a right, or its result was written to: it rests until it is resumed"
    CHANGE = "a table or view that it reads is not what it was: it rests until that is changed, or resumed"
    DATA = "its data have an error: it is tried again when there are newer data"


_CONSEQUENCES: Final = {
    "40P01": Consequence.RETRY,  # deadlock detected
    "55P03": Consequence.RETRY,  # lock not available
    "57014": Consequence.RETRY,  # query canceled
    "57P02": Consequence.RETRY,  # crash shutdown
    "08000": Consequence.RETRY,  # connection exception
    "08003": Consequence.RETRY,  # connection does not exist
    "42809": Consequence.SUSPEND,  # wrong object type
}

_OF_VALUES: Final = ("21", "22", "54000")
"""Classes of errors that the values of rows cause, and nothing else."""


def promise(sqlstate: str, consequence: Consequence) -> None:
    """Note what a class of errors promises. Failures are kept by state, so a state has one consequence."""
    assert _CONSEQUENCES.setdefault(sqlstate, consequence) is consequence, sqlstate


def is_of_values(sqlstate: str) -> bool:
    """Whether values of rows cause such an error: then other rows may not have it."""
    return sqlstate.startswith(_OF_VALUES)


def consequence_of(sqlstate: str) -> Consequence:
    """What an error of this state means; of one that is not listed, that the data are to blame."""
    return _CONSEQUENCES.get(sqlstate, Consequence.DATA)
