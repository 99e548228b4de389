"""Whether a run computes changes or everything from scratch: by what either is expected to take; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from catalog.queries.measurements import MeasuredPart, MeasuredRun
from coordinator.planning.publishing_cost import Published, ResultRows, publishing_work
from planner.cost.alike import Comparison, factor
from planner.cost.engines import Costs
from planner.pace.expected import NOTHING_LEARNED, ExpectedRun, Learned
from planner.pace.measured import predicted

WORTH: Final = 1.25
"""Computing from scratch has to be cheaper by this factor: the next changes find nothing kept in memory."""


_OTHER_KIND: Final = 8
"""A run from scratch tells of changes as much as one of changes that is so many runs older: its rows are as
wide, and its expressions as dear."""

_NO_ROW: Final = 0.1
"""As which no row counts, so that there is a ratio."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a run is expected to take, in seconds of a processor: by changes, if it may, and from scratch.

    Both include publishing the result.
    """

    changes: float | None
    recompute: float

    @property
    def is_recomputed(self) -> bool:
        """Whether everything is computed from scratch."""
        return self.changes is None or self.recompute * WORTH < self.changes


@dataclass(frozen=True, slots=True)
class Experience:
    """What earlier runs of a query took beside what is predicted of them today, by their kind; the rows that
    their subplans wrote; and what publishing took."""

    changes: Sequence[Comparison] = ()
    recompute: Sequence[Comparison] = ()
    written: Learned = NOTHING_LEARNED
    published: Sequence[Published] = ()

    def changes_work(self, run: ExpectedRun, unpublished: float, result: ResultRows) -> float:
        """What a run of changes takes, with publishing them and those that were computed before it."""
        changed = run.result_rows
        if unpublished:
            changed = max(changed, result.changed_by_several(changed + unpublished))
        expected = result.expected_work(changed, as_a_whole=False)
        publishing = publishing_work(expected, self.published, as_a_whole=False)
        of_other_kind = (replace(one, age=one.age + _OTHER_KIND) for one in self.recompute)
        return run.work * factor((*self.changes, *of_other_kind), run.work) + publishing

    def recompute_work(self, run: ExpectedRun, result: ResultRows) -> float:
        """What computing everything takes, with publishing it."""
        expected = result.expected_work(run.result_rows, as_a_whole=True)
        return self.computing_work(run) + publishing_work(expected, self.published, as_a_whole=True)

    def beside(self, others: Experience) -> Experience:
        """The same, with what runs of other queries teach where there were no runs of a kind."""
        return replace(
            self,
            changes=self.changes or others.changes,
            recompute=self.recompute or others.recompute,
            published=self.published or others.published,
        )

    def computing_work(self, run: ExpectedRun) -> float:
        """The same without publishing."""
        return run.work * factor(self.recompute, run.work)


def experience_from(runs: Sequence[MeasuredRun], parts: Sequence[MeasuredPart], costs: Costs) -> Experience:
    """What these runs teach, and their parts, which the catalog has in order."""
    of_run: defaultdict[int, list[MeasuredPart]] = defaultdict(list)
    for part in parts:
        of_run[part.run].append(part)
    expected = {id: _expected(of_run[id], costs) for id in of_run}
    compared: dict[bool, list[Comparison]] = {False: [], True: []}
    for run in runs:
        if run.run in expected:
            compared[run.from_scratch].append(Comparison(expected[run.run], run.work, run.age))
    return Experience(
        changes=compared[False],
        recompute=compared[True],
        written=Learned(_written(runs, of_run, False), _written(runs, of_run, True)),
        published=[
            Published(run.expected_publishing_work, run.publishing_work, run.from_scratch, run.age)
            for run in runs
            if run.expected_publishing_work is not None and run.publishing_work is not None
        ],
    )


def _expected(parts: Iterable[MeasuredPart], costs: Costs) -> float:
    """What is predicted today of what the parts of a run had to do."""
    return sum(
        predicted(part.features, costs.weights_of(part.subplan, part.engine or costs.engines[0].name))
        for part in parts
    )


def _written(
    runs: Iterable[MeasuredRun], parts: Mapping[int, Sequence[MeasuredPart]], from_scratch: bool
) -> Mapping[int, Sequence[Comparison]]:
    written: defaultdict[int, list[Comparison]] = defaultdict(list)
    for run in runs:
        if run.from_scratch != from_scratch:
            continue
        for part in parts.get(run.run, ()):
            if part.expected_rows is not None:
                expected, rows = max(part.expected_rows, 1.0), max(part.rows_out, _NO_ROW)
                written[part.subplan].append(Comparison(expected, rows, run.age))
    return written


def chooses_itself(options: Mapping[str, object]) -> bool:
    """Whether Gavial chooses how results of a query with these options are computed."""
    return options.get("METHOD", "auto") == "auto"
