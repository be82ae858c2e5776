"""A measured figure, its goal, and what its peers did in the same run."""

from __future__ import annotations

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


def median(values: list[float]) -> float:
    """The middle value; the mean of the two middle ones where there are two."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def percentile(values: list[float], share: float) -> float:
    """The value that a share of all values does not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
