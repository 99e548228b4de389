"""What an engine may keep of a plan, where all values take eight bytes and all look-ups are possible."""

from __future__ import annotations

from planner.cost.engines import Costs, EngineLimits, Keeping
from planner.cost.weights import IN_PROCESS, SPARK
from planner.delta.weighted import DeltaPlan
from planner.firing.states import states_of

WIDTH = 8.0
BESIDE = 20.0


def keeping(plan: DeltaPlan, fewest_rows: float = 0.0) -> Keeping:
    """All look-ups of the plan."""
    lookups = frozenset(lookup for uses in states_of(plan).values() for lookup in uses.lookups)
    widths = {buffer.number: {field.column: WIDTH for field in buffer.fields} for buffer in plan.buffers}
    return Keeping(lookups, widths, BESIDE, fewest_rows)


def costs(plan: DeltaPlan, fewest_rows: float = 0.0) -> Costs:
    """Both engines, of which the one in the process keeps what it looks up."""
    in_process = EngineLimits(IN_PROCESS, keeping=keeping(plan, fewest_rows))
    return Costs((in_process, EngineLimits(SPARK)), {})
