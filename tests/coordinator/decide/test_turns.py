"""Who waits how long, in simulations: the promises that `coordinator/decide/turns.py` makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from coordinator.decide.turns import MOST_IN_A_ROW, Request, Turns

SECONDS = st.sampled_from((0.0, 0.1, 0.5, 1.0, 2.0, 7.0, 30.0, 120.0))


@dataclass(frozen=True)
class Arrival:
    """A request, and after how many others have begun it comes."""

    after: int
    request: Request


@dataclass(frozen=True)
class Began:
    """A request begins to be computed; `waiting` are those that had come and not begun, itself among them."""

    request: Request
    waiting: Sequence[Request]


def requests(
    owners: Sequence[str], statements: Sequence[int], awaited: st.SearchStrategy[bool]
) -> st.SearchStrategy[list[Arrival]]:
    """Requests that come at any time, each of another query."""
    numbers = count()
    request = st.builds(
        lambda owner, statement, seconds, awaited: Request(
            UUID(int=next(numbers)), owner, statement, seconds, awaited
        ),
        st.sampled_from(owners),
        st.sampled_from(statements),
        SECONDS,
        awaited,
    )
    return st.lists(st.builds(Arrival, st.integers(0, 12), request), min_size=1, max_size=25)


def simulated(arrivals: Sequence[Arrival]) -> Iterator[Began]:
    turns, waiting, coming = Turns(), [], sorted(arrivals, key=lambda arrival: arrival.after)
    for number in count():
        waiting += [arrival.request for arrival in coming if arrival.after == number]
        if waiting:
            request, turns = turns.next(waiting)
            yield Began(request, tuple(waiting))
            waiting.remove(request)
        elif all(arrival.after < number for arrival in coming):
            return


@given(requests(("a", "b"), (1, 2), st.booleans()))
def test_everything_is_computed_once(arrivals: list[Arrival]) -> None:
    began = [turn.request for turn in simulated(arrivals)]
    assert sorted(request.query for request in began) == sorted(arrival.request.query for arrival in arrivals)


@given(requests(("a", "b", "c"), (1, 2, 3), st.just(True)))
def test_an_owner_waits_for_no_more_of_another_one_than_its_own_work(arrivals: list[Arrival]) -> None:
    """And for one query more of that owner, which may have had its turn coming."""
    check_shares(list(simulated(arrivals)), sharer=lambda request: request.owner)


@given(requests(("a",), (1, 2, 3), st.just(True)))
def test_a_statement_waits_for_no_more_of_another_one_than_its_own_work(arrivals: list[Arrival]) -> None:
    check_shares(list(simulated(arrivals)), sharer=lambda request: request.statement)


def check_shares(began: Sequence[Began], sharer) -> None:  # type: ignore[no-untyped-def]
    """From when somebody begins to wait to the first turn: what each of the others has had."""
    for place, turn in enumerate(began):
        who = sharer(turn.request)
        others: dict[object, list[float]] = {}
        for earlier in reversed(began[:place]):
            if sharer(earlier.request) == who or who not in map(sharer, earlier.waiting):
                break
            others.setdefault(sharer(earlier.request), []).append(earlier.request.seconds)
        own = max(
            (request.seconds for request in turn.waiting if sharer(request) == who),
            default=turn.request.seconds,
        )
        for seconds in others.values():
            assert sum(seconds) <= own + max(seconds) + 1e-9


@given(requests(("a", "b", "c"), (1, 2, 3), st.booleans()))
def test_clients_go_before_the_clock_which_is_not_put_off_for_ever(arrivals: list[Arrival]) -> None:
    in_a_row = 0
    for turn in simulated(arrivals):
        kinds = {request.awaited for request in turn.waiting}
        if not turn.request.awaited:
            assert kinds == {False} or in_a_row >= MOST_IN_A_ROW
        elif kinds == {True, False}:
            assert in_a_row < MOST_IN_A_ROW
        in_a_row = in_a_row + 1 if turn.request.awaited else 0


@given(st.lists(SECONDS, min_size=1, max_size=20))
def test_what_is_overdue_after_downtime_comes_in_order_of_size(seconds: list[float]) -> None:
    arrivals = [
        Arrival(0, Request(UUID(int=number), "a", number, length, False))
        for number, length in enumerate(seconds)
    ]
    assert [turn.request.seconds for turn in simulated(arrivals)] == sorted(seconds)


def test_one_does_not_wait_behind_a_statement_of_many() -> None:
    many = [Arrival(0, Request(UUID(int=number), "a", "many", 1.0, True)) for number in range(94)]
    one = Arrival(5, Request(UUID(int=100), "a", "one", 1.0, True))
    order = [turn.request.statement for turn in simulated([*many, one])]
    assert order.index("one") <= 6


def test_a_long_one_is_not_put_off_for_ever() -> None:
    """Short ones keep coming, each by a statement of its own."""
    short = [Arrival(number, Request(UUID(int=number), "a", number, 1.0, True)) for number in range(50)]
    long = Arrival(0, Request(UUID(int=100), "a", "long", 10.0, True))
    order = [turn.request.statement for turn in simulated([*short, long])]
    assert order.index("long") <= 12


def test_another_owner_does_not_wait_behind_many() -> None:
    many = [Arrival(0, Request(UUID(int=number), "a", number, 1.0, True)) for number in range(94)]
    one = Arrival(5, Request(UUID(int=100), "b", "one", 1.0, True))
    assert [turn.request.owner for turn in simulated([*many, one])].index("b") <= 6


def places(arrivals: Sequence[Arrival], statement: str) -> list[int]:
    """When the requests of a statement begin, counted by what begins before."""
    return [place for place, turn in enumerate(simulated(arrivals)) if turn.request.statement == statement]


def asked(after: int, owner: str, statement: str, seconds: float) -> Arrival:
    return Arrival(after, Request(UUID(int=next(_NUMBERS)), owner, statement, seconds, True))


_NUMBERS = count()


def test_an_owner_who_comes_again_has_saved_no_time_while_away() -> None:
    """Else one who was away for long would go before all others for as long."""
    always = [asked(number, "always", f"always {number}", 1.0) for number in range(60)]
    away = [asked(0, "away", "first", 1.0), *(asked(40, "away", "again", 1.0) for _ in range(20))]
    began = [place for place in places([*always, *away], "again") if place < 60]
    assert 8 <= len(began) <= 12, "they take turns"


def test_a_short_statement_earns_an_owner_nothing_for_the_time_that_a_long_one_waited() -> None:
    """A short statement goes at once; it does not let its owner go before another one for long after."""
    long = asked(0, "patient", "long", 100.0)
    others = [asked(number, "other", f"other {number}", 1.0) for number in range(60)]
    short = [asked(40, "patient", f"short {number}", 1.0) for number in range(20)]
    order = [turn.request.owner for turn in simulated([long, *others, *short])][40:60]
    assert 8 <= order.count("other") <= 12, "they take turns"


def test_who_comes_begins_no_earlier_than_who_is_there() -> None:
    """Though the short statement of one who has waited for long was computed just before."""
    long = asked(0, "patient", "long", 100.0)
    others = [asked(number, "other", f"other {number}", 1.0) for number in range(60)]
    short = asked(40, "patient", "short", 1.0)
    newcomer = [asked(41, "newcomer", f"new {number}", 1.0) for number in range(20)]
    order = [turn.request.owner for turn in simulated([long, *others, short, *newcomer])][41:61]
    assert 8 <= order.count("other") <= 12, "they take turns"


def test_the_smallest_result_of_a_statement_is_computed_first() -> None:
    """What fails is told the earlier, and the statement's turn comes the earlier."""
    together = [asked(0, "a", "one", seconds) for seconds in (7.0, 0.5, 2.0)]
    assert [turn.request.seconds for turn in simulated(together)] == [0.5, 2.0, 7.0]
