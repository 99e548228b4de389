"""A worked number for each formula of the cost model."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

import numpy as np
import pytest

from catalog.postgres.types import BOOLEAN, INT4, SqlType
from dialect.expressions.scalar import Constant
from planner.algebra.columns import refer
from planner.algebra.logical import Field
from planner.algebra.statistics import ColumnStatistics
from planner.cost.arrival import Range
from planner.cost.estimate import BufferEstimate, Estimator
from planner.cost.joins import split
from planner.cost.node import BufferRows, FiringInputs
from planner.cost.row_counts import (
    Change,
    Content,
    RowCounts,
    Vector,
    content,
    different,
    presence,
    reached,
    reconciled,
    total,
)
from planner.cost.spread import Moves, Spread
from planner.cost.subplan import NOTHING_KEYED, Keyed
from planner.cost.sums import between, merged, paired, renewed, united
from planner.cost.weights import Weights
from planner.cost.work import FEATURES, Features, Precondition, SubplanWork, work
from planner.delta.weighted import (
    Consolidate,
    DeltaFilter,
    First,
    KeySemiJoin,
    Moment,
    Negate,
    Pairs,
    PartialAggregate,
    Read,
    SemiJoin,
    Step,
    Sum,
    Tallied,
    Tally,
    Weighted,
)
from tests.support.planning.random_plans import call

KEY: Final = Field(1, "key", SqlType(INT4))
OTHER: Final = Field(2, "other", SqlType(INT4))


def one(number: float) -> Vector:
    return np.array([number])


def change(
    inserts: float, replacements: float, deletes: float, moved: float = 0.0, replaced_rows: float = 0.0
) -> Change:
    return Change(*map(one, (inserts, replacements, deletes, moved, replaced_rows)))


def numbers(rows: RowCounts) -> list[float]:
    return [float(np.broadcast_to(getattr(rows, vector.name), 1)[0]) for vector in fields(rows)]


def test_rows_of_a_change() -> None:
    """Of 5 that come, 3 that are replaced and 2 that go, 13 rows have a weight; a content grows by 3."""
    known = change(5, 3, 2, 1, 3)
    assert (known.gross[0], known.net[0]) == (13, 3)
    assert numbers(known.negated()) == [2, 3, 5, 1, 3]
    assert numbers(known.kept(0.5, 0.1)) == pytest.approx([2.5, 0.3, 0.2, 0.1, 0.3])
    assert numbers(total([known, known])) == [10, 6, 4, 2, 6]


def test_rows_of_a_content() -> None:
    """A quarter of 8 rows is 2, which stand for a quarter of those that they are left of."""
    known = Content(one(8.0), 2.0, one(40.0))
    assert (known.gross[0], known.net[0]) == (8, 8)
    assert numbers(known.kept(0.25, 0.25)) == [2, 0.5, 10]
    assert numbers(content(one(8.0)).kept(0.25, 0.5)) == [2, 0, 4]
    assert numbers(known.negated()) == [0, 0, 8, 2, 40]


def test_probabilities() -> None:
    """100 draws from 100 values have 63 different ones; with each of 3 rows, one in two has a partner."""
    assert different(100.0, one(100.0))[0] == pytest.approx(63.4, abs=0.1)
    assert different(0.5, one(100.0))[0] == 0.5
    assert reached(0.2, one(3.0))[0] == pytest.approx(1 - 0.8**3)
    assert (reached(1.0, one(0.3))[0], presence(one(7.0))[0]) == (0.3, 1)


def test_a_change_leads_from_one_size_to_the_other() -> None:
    """Of 5 inserts only 2 make a new row: the other 3 go out again; a missing row was a replacement."""
    assert numbers(reconciled(change(5, 0, 0), one(10.0), one(12.0)))[:3] == [2, 0, 0]
    assert numbers(reconciled(change(0, 4, 0, 3, 4), one(10.0), one(8.0))) == [0, 2, 2, 2, 2]
    assert numbers(reconciled(change(0, 4, 0), one(10.0), one(11.0)))[:3] == [1, 3, 0]


def test_contents_that_are_added_up() -> None:
    """3 and 5 groups are 8 rows; of the same groups they stand for the 5 that there are at least."""
    three, five = content(one(3.0)), content(one(5.0))
    assert numbers(united([three, five], keyed=False)) == [8, 0, 8]
    assert numbers(united([three, five], keyed=True)) == [8, 0, 5]
    assert numbers(renewed(five, change(4, 1, 2))) == [7, 0, 7]


def test_contents_that_are_taken_from_each_other() -> None:
    """10 rows less 8: 8 replace themselves, 2 are new. With changes, the 8 are the same and fall out."""
    assert numbers(paired(change(10, 0, 8, 3, 8))) == [2, 8, 0, 3, 8]
    assert numbers(between(change(10, 0, 8), change(1, 2, 0, 0, 2), 1.0)) == [3, 2, 0, 0, 2]
    assert numbers(between(change(6, 0, 8), change(4, 0, 0), 0.5))[:3] == [3, 0, 1]


@pytest.mark.parametrize(
    ("moves", "left"), [(Moves.NEVER, 0), (Moves.OFTEN, 3), (Moves.EXTREMES, 2), (Moves.ALWAYS, 6)]
)
def test_replacements_that_consolidation_leaves(moves: Moves, left: float) -> None:
    """12 replacements of 6 rows are 6; half of these differ in a table's columns, a third in an extreme."""
    assert numbers(merged(change(1, 12, 1, 4, 6), moves)) == [1, left, 1, min(2, left), left]


def test_replaced_rows_whose_partners_are_others() -> None:
    """What replaces a row is joined with other rows than it: 3 replacements are 3 that come and 3 that go."""
    assert numbers(split(change(5, 3, 2, 1, 3))) == [8, 0, 5, 0, 0]


def test_common_values_of_two_sides() -> None:
    """What came between a quarter and a half of all values meets those from a third on by a sixth."""
    assert Range(0.25, 0.5).common(Range(1 / 3, 1.0)) == pytest.approx(1 / 6)
    assert Range(0.0, 0.1).common(Range(0.5, 1.0)) == 0


def test_work_is_features_times_weights() -> None:
    """A job, two operators and a million rows that are read take 0.11 + 2 * 0.04 + 0.5 seconds."""
    rows = dict.fromkeys(FEATURES, one(0.0)) | {"jobs": one(1.0), "operators": one(2.0), "contents": one(1e6)}
    assert work(Features(**rows), Weights())[0] == pytest.approx(0.69)
    assert set(FEATURES) == {weight.name for weight in fields(Weights)} - {"latency"}


def read(buffer: int, moment: Moment, *columns: Field) -> Read:
    return Read(buffer, moment, columns)


def estimated(
    node: Weighted, firing: FiringInputs, *, many: float = 100.0, keyed: Keyed = NOTHING_KEYED
) -> tuple[Features, RowCounts]:
    """What firings do for the node, and its rows: over buffers of up to 100 rows of so many values."""
    column = Spread(ColumnStatistics(many), Moves.NEVER, many, 0, 100.0, grows=True)
    known = {buffer: BufferEstimate({1: column, 2: column}, 100.0, True) for buffer in (0, 1)}
    estimate = Estimator(known, from_scratch=False).step(Step(0, "", node))
    done = SubplanWork(frozenset({0, 1}), keyed)
    done.add(estimate, Precondition(estimate.changes or done.reads, estimate.needs))
    return done.features(firing, estimate), firing.rows(estimate)


def firing(before: float, after: float, arrived: Change) -> FiringInputs:
    rows = BufferRows(content(one(before)), content(one(after)), arrived)
    return FiringInputs({0: rows, 1: rows}, {0: 100.0, 1: 100.0}, one(0.2), one(10.0))


NEWS, THERE = read(0, Moment.CHANGE, KEY), read(0, Moment.AFTER, KEY)
LOOKED_UP, OTHER_NEWS = read(1, Moment.AFTER, OTHER), read(1, Moment.CHANGE, OTHER)
EQUAL: Final = call(65, "=", BOOLEAN, refer(KEY), refer(OTHER))
IS_ONE: Final = call(65, "=", BOOLEAN, refer(KEY), Constant("1", SqlType(INT4)))
COUNT: Final = (Tallied(Field(9, "count", SqlType(INT4)), Tally.WEIGHT, None),)
GROUPS: Final = PartialAggregate(THERE, (KEY,), COUNT)

# A fifth of 100 rows comes, each with a value of its own: what each node then gives and has to do.
NODES: Final[dict[str, tuple[Weighted, float, dict[str, float]]]] = {
    "a change is read": (NEWS, 20, {"changes": 20}),
    "a content is read whole": (THERE, 100, {"contents": 100}),
    "one of 100 values": (DeltaFilter(NEWS, IS_ONE), 0.2, {"changes": 20}),
    "the other sign": (Negate(NEWS), 20, {"changes": 20}),
    "rows alike are summed up": (Consolidate(NEWS), 20, {"changes": 20, "operators": 1, "gathered": 20}),
    "each new row has its one partner among 100": (
        Pairs(NEWS, LOOKED_UP, EQUAL),
        20,
        {"changes": 20, "contents": 100, "operators": 1, "joined": 20},
    ),
    "100 rows of 100 values leave 37 of 100 without a partner": (
        SemiJoin(NEWS, LOOKED_UP, EQUAL, negated=False),
        20 * (1 - 0.99**100),
        {"changes": 20, "contents": 100, "operators": 1, "joined": 20 * (1 - 0.99**100)},
    ),
    "20 of 100 groups are touched by 18 of 100 rows": (
        KeySemiJoin(THERE, NEWS, (KEY,)),
        100 * (1 - 0.99**20),
        {"changes": 20, "contents": 100, "operators": 1, "gathered": 100 * (1 - 0.99**20)},
    ),
    "each new value is a group": (
        PartialAggregate(NEWS, (KEY,), COUNT),
        20,
        {"changes": 20, "operators": 1, "gathered": 20},
    ),
    "five rows are first": (
        First(THERE, (), 5, 0),
        5,
        {"contents": 100, "operators": 1, "gathered": 100},
    ),
    "a content after a change": (
        Sum((read(0, Moment.BEFORE, KEY), NEWS), (KEY,)),
        100,
        {"changes": 20, "contents": 80},
    ),
    "the groups that two contents have": (
        Sum(
            (PartialAggregate(THERE, (KEY,), COUNT), Negate(PartialAggregate(LOOKED_UP, (OTHER,), COUNT))),
            (KEY, COUNT[0].field),
        ),
        200,
        {"contents": 200, "operators": 2, "gathered": 200},
    ),
}


@pytest.mark.parametrize("name", NODES)
def test_what_a_node_gives_and_has_to_do(name: str) -> None:
    node, rows, expected = NODES[name]
    done, given = estimated(node, firing(80.0, 100.0, change(20, 0, 0)))
    assert given.gross[0] == pytest.approx(rows)
    found = {feature: getattr(done, feature)[0] for feature in FEATURES}
    assert found == pytest.approx(dict.fromkeys(FEATURES, 0.0) | {"jobs": 1, "written": rows} | expected)


# The same with the content of the other buffer, or of the own one, looked up by the keys of what came.
KEYED: Final[dict[str, tuple[Weighted, dict[str, float]]]] = {
    "the partners of 20 rows are looked up": (
        Pairs(NEWS, Negate(LOOKED_UP), EQUAL),
        {"keyed": 100, "looked_up": 20, "found": 20, "operators": 1, "joined": 20},
    ),
    "the rows of 20 groups are looked up": (
        KeySemiJoin(THERE, NEWS, (KEY,)),
        {
            "keyed": 100,
            "looked_up": 20,
            "found": 100 * (1 - 0.99**20),
            "operators": 1,
            "gathered": 100 * (1 - 0.99**20),
        },
    ),
    "rows that a grouping over it needs are looked up": (
        KeySemiJoin(PartialAggregate(THERE, (KEY,), COUNT), NEWS, (KEY,)),
        {
            "keyed": 100,
            "looked_up": 20,
            "found": 100 * (1 - 0.99**20),
            "operators": 2,
            "gathered": 100 + 100 * (1 - 0.99**20),
        },
    ),
    "what no join asks for is scanned": (THERE, {"contents": 100, "changes": 0}),
}


@pytest.mark.parametrize("name", KEYED)
def test_what_is_read_by_key(name: str) -> None:
    """Its cost follows the keys that are looked up and the rows found, not the rows that there are."""
    node, expected = KEYED[name]
    keyed: Keyed = dict.fromkeys(((0, Moment.AFTER), (1, Moment.AFTER)), frozenset())
    done, given = estimated(node, firing(80.0, 100.0, change(20, 0, 0)), keyed=keyed)
    scanned, same = estimated(node, firing(80.0, 100.0, change(20, 0, 0)))
    assert given.gross[0] == same.gross[0]
    assert scanned.looked_up[0] == scanned.found[0] == 0.0
    found = {feature: getattr(done, feature)[0] for feature in FEATURES}
    usual = {"jobs": 1, "written": given.gross[0], "changes": 20}
    assert found == pytest.approx(dict.fromkeys(FEATURES, 0.0) | usual | expected)


def test_nothing_is_done_where_nothing_came() -> None:
    done, given = estimated(Pairs(NEWS, LOOKED_UP, EQUAL), firing(100.0, 100.0, change(0, 0, 0)))
    assert given.gross[0] == 0
    assert all(getattr(done, feature)[0] == 0 for feature in FEATURES)


def test_a_content_that_shrinks_has_no_new_groups() -> None:
    """Half of 10 values are left: the 55 rows that go had all of these, the 5 that come have no new one."""
    shrinking = firing(100.0, 50.0, change(5, 0, 55))
    _, groups = estimated(PartialAggregate(NEWS, (KEY,), COUNT), shrinking, many=10.0)
    assert groups.gross[0] == pytest.approx(5.0, abs=0.01)


def test_a_semi_join_leaves_as_small_a_share_of_replaced_rows_as_of_replacements() -> None:
    _, kept = estimated(
        SemiJoin(NEWS, OTHER_NEWS, EQUAL, negated=False), firing(80.0, 100.0, change(20, 20, 0, 0, 10))
    )
    assert isinstance(kept, Change)
    assert 0.0 < kept.replaced_rows[0] == pytest.approx(kept.replacements[0] / 2)
