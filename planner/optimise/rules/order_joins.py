"""Orders inner joins by the intermediate rows that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import or_
from typing import Final

from dialect.expressions.scalar import Scalar
from planner.algebra.columns import column_numbers, passing, references
from planner.algebra.conditions import conjunction, conjuncts
from planner.algebra.logical import Filter, Join, JoinKind, Plan, Project, fields
from planner.algebra.statistics import Statistics
from planner.algebra.tree import children, with_children
from planner.facts.cardinality import Estimate, estimate, join_share
from planner.optimise.rules.push_filters import filtered

MOST_EXACT: Final = 10
"""Up to this many relations are ordered by dynamic programming, more of them greedily."""


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition, the relations that it reads as bits, and the share of pairs that satisfies it."""

    condition: Scalar
    members: int
    share: float


@dataclass(frozen=True, slots=True)
class _Tree:
    """Joined relations as bits, the halves joined (none for a single relation), the intermediate rows."""

    members: int
    halves: tuple[_Tree, _Tree] | None
    cost: float
    text: str


def order_joins(statistics: Statistics) -> Callable[[Plan], Plan]:
    """The rule under these statistics: ⋈ is associative and commutative, so the cheapest order has the
    same rows.

    The cost is the sum of all intermediate rows. Relations that no condition connects are crossed last, small
    ones first. All joins without another operator between them are ordered together, once.
    """

    def rule(plan: Plan) -> Plan:
        relations, conditions = _flatten(plan)
        if len(relations) < 2:
            return with_children(plan, tuple(map(rule, children(plan))))
        ordered = _Search([rule(relation) for relation in relations], conditions, statistics).plan()
        return ordered if fields(ordered) == fields(plan) else Project(ordered, passing(fields(plan)))

    return rule


def _flatten(plan: Plan) -> tuple[list[Plan], tuple[Scalar, ...]]:
    """The relations that inner joins bring together, and all the conditions on them."""
    match plan:
        case Join(kind=JoinKind.INNER, left=left, right=right, condition=condition):
            relations, conditions = _flatten(left)
            others, more = _flatten(right)
            return relations + others, conditions + more + conjuncts(condition)
        case Filter(input=Join(kind=JoinKind.INNER) as child, condition=condition):
            relations, conditions = _flatten(child)
            return relations, conditions + conjuncts(condition)
        case Project(input=Join(kind=JoinKind.INNER) as child, columns=columns) if columns == passing(
            tuple(column.field for column in columns)
        ):
            return _flatten(child)
    return [plan], ()


class _Search:
    """One search: relations are bits, conditions the bits of the relations that they read."""

    def __init__(
        self, relations: Sequence[Plan], conditions: Sequence[Scalar], statistics: Statistics
    ) -> None:
        self._relations = relations
        estimates = [estimate(relation, statistics) for relation in relations]
        self._base = {1 << index: estimate.rows for index, estimate in enumerate(estimates)}
        numbers = {1 << index: column_numbers(relation) for index, relation in enumerate(relations)}
        columns = Estimate(0.0, {k: v for estimate in estimates for k, v in estimate.columns.items()})
        self._conditions = [
            _Condition(condition, _members(condition, numbers), join_share(condition, columns.columns))
            for condition in conditions
        ]
        self._rows: dict[int, float] = {}
        self._near: dict[int, int] = {}

    def plan(self) -> Plan:
        """The cheapest plan found; a condition stands where all relations that it reads are joined."""
        leaves = [_Tree(1 << index, None, 0.0, f"{index:03}") for index in range(len(self._relations))]
        trees = [self._order(part) for part in self._connected(leaves)]
        trees.sort(key=lambda tree: (self._size(tree.members), tree.text))
        return filtered(
            self._build(reduce(self._join, trees)),
            (condition.condition for condition in self._conditions if not condition.members),
        )

    def _order(self, leaves: Sequence[_Tree]) -> _Tree:
        return self._exact(leaves) if len(leaves) <= MOST_EXACT else self._greedy(leaves)

    def _exact(self, leaves: Sequence[_Tree]) -> _Tree:
        """The cheapest tree of each connected set of relations, from small sets to the whole one."""
        best: dict[int, _Tree] = {leaf.members: leaf for leaf in leaves}
        for size in range(2, len(leaves) + 1):
            for chosen in combinations(leaves, size):
                members = sum(leaf.members for leaf in chosen)
                candidates = [
                    self._join(best[half], best[members - half]) for half in self._halves(members, best)
                ]
                if candidates:
                    best[members] = min(candidates, key=lambda tree: (tree.cost, tree.text))
        return best[sum(leaf.members for leaf in leaves)]

    def _halves(self, members: int, best: Mapping[int, _Tree]) -> Iterator[int]:
        """The ways to split a set in two connected halves that a condition connects, each once."""
        lowest = members & -members
        half = (members - 1) & members
        while half:
            if half & lowest and half in best and members - half in best and self._meet(half, members - half):
                yield half
            half = (half - 1) & members

    def _greedy(self, leaves: Sequence[_Tree]) -> _Tree:
        """The connected pair with the smallest outcome is joined, again and again."""
        left_over = list(leaves)
        while len(left_over) > 1:
            pairs = [
                pair for pair in combinations(left_over, 2) if self._meet(pair[0].members, pair[1].members)
            ]
            first, second = min(pairs, key=lambda pair: (self._size_of_pair(*pair), pair[0].text))
            left_over = [tree for tree in left_over if tree not in (first, second)]
            left_over.append(self._join(first, second))
        return left_over[0]

    def _connected(self, leaves: Sequence[_Tree]) -> list[list[_Tree]]:
        """The relations in groups that conditions connect."""
        groups: list[int] = [leaf.members for leaf in leaves]
        for condition in self._conditions:
            touched = [group for group in groups if group & condition.members]
            groups = [group for group in groups if not group & condition.members]
            groups += [reduce(or_, touched)] if touched else []
        return [[leaf for leaf in leaves if leaf.members & group] for group in sorted(groups)]

    def _meet(self, left: int, right: int) -> bool:
        """Whether a condition reads relations of both sides."""
        if left not in self._near:
            touched = (condition.members for condition in self._conditions if condition.members & left)
            self._near[left] = reduce(or_, touched, 0)
        return bool(self._near[left] & right)

    def _join(self, left: _Tree, right: _Tree) -> _Tree:
        members = left.members | right.members
        cost = left.cost + right.cost + self._size(members)
        return _Tree(members, (left, right), cost, f"({left.text}{right.text})")

    def _size_of_pair(self, left: _Tree, right: _Tree) -> float:
        """The rows of two joined trees, from theirs: a product over very many relations would overflow."""
        members = left.members | right.members
        if members not in self._rows:
            rows = self._size(left.members) * self._size(right.members)
            for condition in self._conditions:
                is_met = not condition.members & ~members
                if is_met and condition.members & ~left.members and condition.members & ~right.members:
                    rows *= condition.share
            self._rows[members] = rows
        return self._rows[members]

    def _size(self, members: int) -> float:
        """Rows of a set of relations joined: the same in whichever order."""
        if members not in self._rows:
            rows = 1.0
            for bit, base in self._base.items():
                rows *= base if bit & members else 1.0
            for condition in self._conditions:
                if condition.members and not condition.members & ~members:
                    rows *= condition.share
            self._rows[members] = rows
        return self._rows[members]

    def _build(self, tree: _Tree) -> Plan:
        here = [
            condition.condition for condition in self._conditions if self._belongs(condition.members, tree)
        ]
        if tree.halves is None:
            return filtered(self._relations[tree.members.bit_length() - 1], here)
        left, right = tree.halves
        return Join(JoinKind.INNER, self._build(left), self._build(right), conjunction(here))

    @staticmethod
    def _belongs(members: int, tree: _Tree) -> bool:
        if not members or members & ~tree.members:
            return False
        return tree.halves is None or all(members & ~half.members for half in tree.halves)


def _members(condition: Scalar, numbers: Mapping[int, frozenset[int]]) -> int:
    read = references(condition)
    return sum(bit for bit, columns in numbers.items() if columns & read)
