"""How long to wait before what failed is tried again: twice as long each time, up to a limit."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Backoff:
    """The limits of pauses, and the pause after the last failure, in seconds; 0 before the first."""

    shortest: float
    longest: float
    seconds: float = 0.0

    def longer(self) -> Backoff:
        """The pause after one more failure."""
        return replace(self, seconds=min(max(2 * self.seconds, self.shortest), self.longest))

    def reset(self) -> Backoff:
        """The state before the first failure, because it went well."""
        return replace(self, seconds=0.0)

    def after(self, lasted: float, steady: float) -> Backoff:
        """The pause after a failure of what lasted so long: from more than `steady` on it had gone well."""
        return (self.reset() if lasted > steady else self).longer()
