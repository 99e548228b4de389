"""How parts of what is told are put together."""

from __future__ import annotations

from catalog.queries.running import Failure


def test_message_detail_and_hint_are_sentences() -> None:
    failure = Failure("F0000", "no Java for Spark", "PATH: java does not run", "Install Java 17 or newer.")
    assert str(failure) == "no Java for Spark. PATH: java does not run. Install Java 17 or newer."
    assert str(Failure("22012", "division by zero")) == "division by zero"
    assert str(Failure("54000", "it cannot be stored", "It is late.")) == "it cannot be stored. It is late."
