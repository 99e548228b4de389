"""Random standing queries for as long as one likes: see `scripts/fuzz-standing`."""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from random import Random, SystemRandom
from typing import Final

from tests.support.capture.random_rows import RandomCase
from tests.support.shrinking import shrink
from tests.support.standing.cases import Case, Query, Restart, read_cases, script
from tests.support.standing.composed_types import PRELUDE
from tests.support.standing.playing import Finding, Player
from tests.support.standing.server_settings import settings
from tests.support.standing.site import site
from tests.support.standing.surfaces import Surfaces
from tests.support.standing.sweep import sweep
from tests.support.standing.values import Feature

QUERIES: Final = 16
CHANGES: Final = 2
ATTEMPTS: Final = 60
CUTTING_MINUTES: Final = 5
CASES_OF_A_SITE: Final = 8

KNOWN_BUGS: Final[dict[Feature, str]] = {
    Feature.NUMERIC_LARGE: "arithmetic with such numbers is 22003 inside a query (docs/values.md)",
    Feature.LAST_YEARS: "cannot be stored (docs/values.md)",
}
"""What is not generated unless `--features` asks for it, and why."""

EXTREMES: Final = (
    *(Feature.NUMERIC_SPECIALS, Feature.NUMERIC_LARGE, Feature.FAR_DATES, Feature.BOUNDS, Feature.MIDNIGHT),
    *(Feature.UNREAD, Feature.ERRORS),
)
"""What many expressions have errors for, so that three cases in ten do without each."""

SOUND: Final = frozenset(Feature) - frozenset(KNOWN_BUGS)


def random_case(
    seed: int,
    features: frozenset[Feature],
    queries: int = QUERIES,
    changes: int = CHANGES,
    targets: int | None = None,
) -> Case:
    """The case of a seed, whose queries have so many targets at most."""
    random = Random(seed)
    features -= {extreme for extreme in EXTREMES if random.random() < 0.3}
    tables = RandomCase(random, features)
    surfaces = Surfaces(random, tables.readable(), features)
    fill = tables.fill()
    steps = tables.steps(changes)
    chosen: tuple[str, ...] = ()
    if Feature.SETTINGS in features and random.random() < 0.3:
        chosen, steps = settings(random), (Restart(False), *steps)  # whoever is connected has none of them
    return Case(
        f"seed {seed}",
        tuple(table.table for table in tables.tables),
        fill,
        tuple(_narrowed(random, surfaces.query(), targets) for _ in range(queries)),
        steps,
        (*PRELUDE, *chosen),
    )


def _narrowed(random: Random, query: Query, targets: int | None) -> Query:
    others = range(len(query.targets))
    if targets is None or len(others) <= targets:
        return query
    return query.without(frozenset(random.sample(others, len(others) - targets)))


@dataclass
class Fuzzer:
    """Plays cases until a time has come, and cuts what is found."""

    until: float = math.inf
    attempts: int = ATTEMPTS
    cutting_minutes: float = CUTTING_MINUTES
    cases_of_a_site: int = CASES_OF_A_SITE
    held_from: int | None = None
    without_java: bool = False
    are_compared: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def fuzz(self, cases: Iterator[Case], majors: Iterator[int | None]) -> None:
        """Some cases at each site, until there are no more or the time has come."""
        while some := tuple(islice(cases, self.cases_of_a_site)):
            major = next(majors)
            say("the embedded PostgreSQL" if major is None else f"PostgreSQL {major}")
            with site(major, self.held_from, self.without_java, self.are_compared) as place:
                player = Player(place, self.counts, self.refusals)
                for case in some:
                    began = time.monotonic()
                    self._play(player, case)
                    said = f"{time.monotonic() - began:.0f} s; in all {dict(self.counts)}"
                    say(f"{case.title}: {said}, {len(self.findings)} findings")
                    if time.monotonic() > self.until:
                        return

    def _play(self, player: Player, case: Case) -> None:
        """Of each query with findings the first is told, with a script of what it takes.

        The time in which the findings of a case are cut is divided among those that are left.
        """
        played, findings = player.play(case)
        player.counts["cases"] += 1
        firsts: dict[str, Finding] = {}
        for finding in findings:
            firsts.setdefault(finding.query, finding)
        until = time.monotonic() + self.cutting_minutes * 60
        for left, finding in zip(range(len(firsts), 0, -1), firsts.values(), strict=True):
            self.findings.append(f"{case.title}: {finding}")
            say(self.findings[-1])
            if self.attempts:
                now = time.monotonic()
                say(script(self._cut(player, played, finding, now + (until - now) / left)))

    def _cut(self, player: Player, case: Case, finding: Finding, until: float) -> Case:
        cutter = Player(player.site)

        def fails(cut: Case) -> bool:
            _, findings = cutter.play(cut)
            return any((found.kind, found.query) == (finding.kind, finding.query) for found in findings)

        steps = case.steps[: finding.step + 1]
        return shrink(replace(case, steps=steps), finding.query, fails, self.attempts, finding.targets, until)


def replaying(findings: Sequence[str], major: int, held_from: int | None = None) -> str:
    """The commands that play the random cases of these findings again, and cut them."""
    titles = dict.fromkeys(finding.partition(":")[0] for finding in findings)
    place = f"--postgres {major}" + (f" --held-from {held_from}" if held_from is not None else "")
    return "\n".join(f"scripts/fuzz-standing --{title} --seeds 1 {place}" for title in titles)


def say(text: str) -> None:
    """A line, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Play random cases of standing queries, or given ones, and say what differs from PostgreSQL."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz-standing", description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=3, help="no case begins later than that")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1_000_000), help="the first one")
    parser.add_argument("--seeds", type=int, help="so many, whatever time they take")
    parser.add_argument("--postgres", type=int, choices=(15, 18), help="none: by turns, and the embedded one")
    parser.add_argument("--changes", type=int, default=CHANGES, help="of each case")
    parser.add_argument("--queries", type=int, default=QUERIES, help="of each case")
    parser.add_argument(
        "--targets", type=int, help="of each query at most: DuckDB computes more of narrow ones"
    )
    parser.add_argument("--without-java", action="store_true", help="what is left to Spark is not computed")
    parser.add_argument("--held-from", type=int, help="rows from which on DuckDB holds and arranges contents")
    parser.add_argument("--compare-look-ups", action="store_true", help="each look-up by key with a scan")
    parser.add_argument("--features", default="sound", help="sound, all, or names as in sound,SCALE,PADDING")
    parser.add_argument("--attempts", type=int, default=ATTEMPTS, help="to cut a finding; 0: it is only told")
    parser.add_argument(
        "--cutting-minutes", type=float, default=CUTTING_MINUTES, help="in which findings of a case are cut"
    )
    parser.add_argument("--sweep", nargs="*", metavar="TYPE", help="every expression of these types, or all")
    parser.add_argument("--cases", type=Path, help="the cases of this file instead")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is stopped on the way out
    began = time.monotonic()
    features = features_of(options.features)
    cases = (
        random_case(seed, features, options.queries, options.changes, options.targets)
        for seed in count(options.seed)
    )
    until = began + options.minutes * 60
    if options.seeds or options.cases or options.sweep is not None:
        until = math.inf
        cases = (case for case in islice(cases, options.seeds))
    if options.sweep is not None:
        cases = (case for case in sweep(features) if not options.sweep or case.title in options.sweep)
    if options.cases:
        cases = (case for case in read_cases(options.cases.read_text()))
    fuzzer = Fuzzer(
        until,
        options.attempts,
        options.cutting_minutes,
        held_from=options.held_from,
        without_java=options.without_java,
        are_compared=options.compare_look_ups,
    )
    fuzzer.fuzz(cases, majors_of(options.postgres, options.seed))
    for message, times in fuzzer.refusals.most_common():
        say(f"{times:5} refused: {message}")
    minutes = (time.monotonic() - began) / 60
    say(f"{fuzzer.counts['cases']} cases, {len(fuzzer.findings)} findings, {minutes:.0f} minutes")
    sys.exit(1 if fuzzer.findings else 0)


def features_of(names: str) -> frozenset[Feature]:
    """The features of a list of names, of which `sound` and `all` are several."""
    found: set[Feature] = set()
    for name in names.split(","):
        match name:
            case "sound":
                found |= SOUND
            case "all":
                found |= set(Feature)
            case _:
                found.add(Feature[name.upper()])
    return frozenset(found)


def majors_of(major: int | None, seed: int) -> Iterator[int | None]:
    """The version asked for again and again, or all by turns."""
    every = (major,) if major is not None else (18, 15, None)
    return (every[(seed + place) % len(every)] for place in count())


if __name__ == "__main__":
    main()
