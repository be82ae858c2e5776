"""A measured figure, its goal, and what its peers did in the same run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the benchmark's table."""

    name: str
    value: float
    unit: str
    goal: str
    """The budget in words."""
    met: bool
    peers: Mapping[str, float] = field(default_factory=dict)
    """Each peer's value, measured in the same run in the same unit."""


OWN_WORK = "own work"
"""The peer beside a latency: the processor time that the program itself took of it."""
PAIRED = "paired ratio"
"""The peer beside a value that is judged by `paired`."""


def cpu_seconds(pid: int) -> float:
    """The processor time that another process has taken up to now, all its threads together."""
    # Linux makes the number of such a clock from the process's own, which Python has no function for.
    return time.clock_gettime((~pid << 3) | 2)


def latency(name: str, wall: float, own: float, most: float) -> Figure:
    """A row for a latency in milliseconds, with the program's own work in the same span beside it."""
    return Figure(name, wall, "ms", f"≤ {most:,g} ms", wall <= most, {OWN_WORK: own})


def median(values: list[float]) -> float:
    """The middle value; the mean of the two middle ones where there are two."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def paired(values: list[float], others: list[float]) -> float:
    """The median of the ratios of runs that took turns: what the machine did meanwhile met both alike."""
    return median([value / other for value, other in zip(values, others, strict=True)])


def percentile(values: list[float], share: float) -> float:
    """The value that a share of all values does not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
