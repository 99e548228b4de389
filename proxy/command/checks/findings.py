"""What was looked for, what was found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How much a finding matters."""

    OK = "ok"
    WARN = "warn"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for: what was found, and what to do where that is not enough."""

    status: Status
    what: str
    found: str
    hint: str = ""


def render(findings: tuple[Finding, ...]) -> str:
    """The findings as text, a line for each."""
    return "\n".join(
        f"{finding.status.value:8}{finding.what:16}{'; '.join(filter(None, (finding.found, finding.hint)))}"
        for finding in findings
    )
