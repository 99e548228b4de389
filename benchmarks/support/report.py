"""What a benchmark leaves behind: a table and the verdicts on the terminal, and everything as JSON."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.support.measure import Reading, Spread, Verdict, by_turn, ratio, spread

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Header:
    """When, on which machine and with what the readings were taken; the seed is among the settings."""

    date: str
    commit: str
    machine: str
    load_average: float
    settings: Mapping[str, str | int]

    def line(self) -> str:
        """The header in one line, for the terminal and below a chart."""
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        load = f"load average {self.load_average:.2f}"
        return f"{self.date}, commit {self.commit}, {self.machine}, {load}, {settings}"


def header(settings: Mapping[str, str | int]) -> Header:
    """The header for readings that are taken from now on."""
    return Header(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=_commit(),
        machine=_machine(),
        load_average=os.getloadavg()[0],
        settings=settings,
    )


def table(readings: Iterable[Reading], figures: Sequence[str], baseline: str) -> str:
    """Per case and way: median (lowest..highest) of each figure, and the ratio to the baseline."""
    kept = tuple(readings)
    lines = []
    for case in dict.fromkeys(reading.case for reading in kept):
        shown = [figure for figure in figures if any(figure in r.figures for r in kept if r.case == case)]
        lines.append(f"{case:<28}" + "".join(f"{figure:>31}" for figure in shown))
        for way in dict.fromkeys(reading.way for reading in kept if reading.case == case):
            cells = (_cell(kept, case, way, figure, baseline) for figure in shown)
            lines.append(f"  {way:<26}" + "".join(f"{cell:>31}" for cell in cells))
    return "\n".join(lines)


def verdict_line(verdict: Verdict) -> str:
    """The target, what was measured, and whether it was met."""
    target = verdict.target
    compared = target.way if target.against is None else f"{target.way} / {target.against}"
    measured = "nothing to compare" if verdict.measured is None else _spread_text(verdict.measured)
    met = "met" if verdict.met else "MISSED"
    return f"{met:<7}{target.case}: {target.figure}, {compared}: {measured}, {target.kind} {target.bound}"


def write_json(path: Path, top: Header, readings: Iterable[Reading], verdicts: Iterable[Verdict]) -> None:
    """Everything that was measured, reading by reading, with the verdicts."""
    content = {
        "header": asdict(top),
        "readings": [asdict(reading) for reading in readings],
        "verdicts": [asdict(verdict) for verdict in verdicts],
    }
    path.write_text(json.dumps(content, indent=1) + "\n")


def _cell(readings: Sequence[Reading], case: str, way: str, figure: str, baseline: str) -> str:
    measured = spread(by_turn(readings, case, way, figure).values())
    if measured is None:
        return "-"
    against = None if way == baseline else ratio(readings, case, figure, way, baseline)
    return _spread_text(measured) + ("" if against is None else f" x{against.median:4.2f}")


def _spread_text(measured: Spread) -> str:
    return f"{_short(measured.median)} ({_short(measured.lowest)}..{_short(measured.highest)})"


def _short(value: float) -> str:
    """Three digits, or all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def _commit() -> str:
    """The checked-out commit, with a plus sign when tracked files differ from it."""
    return _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain", "-uno") else "")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _machine() -> str:
    """Processor, number of cores, memory and kernel."""
    models = [
        line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")
    ]
    processor = models[0].partition(":")[2].strip() if models else platform.machine()
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return (
        f"{processor}, {os.cpu_count()} cores, {gigabytes:.0f} GB, {platform.system()} {platform.release()}"
    )
