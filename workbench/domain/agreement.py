"""Measures of how far two models agree on the token that follows the same text.

Each figure compares two distributions at one position; only their most likely tokens are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from math import exp, fsum, isfinite, log
from typing import NamedTuple

from workbench.domain.choice import Alternative, ReceivedToken, token_bytes

_LEAST = 1e-6
"""The smallest remaining mass; rounded logprobs do not determine it more precisely."""


def listed(token: ReceivedToken) -> dict[bytes, float]:
    """Return the finite logprobs (nats) reported at a token's position, by token bytes, its own included."""
    found: dict[bytes, float] = {}
    entries: tuple[Alternative | ReceivedToken, ...] = (*token.alternatives, token)
    for entry in entries:
        if (logprob := entry.logprob) is not None and isfinite(logprob):
            name = token_bytes(entry.text, entry.raw)
            found[name] = max(logprob, found.get(name, logprob))
    return found


def divergence(recorded: Mapping[bytes, float], now: Mapping[bytes, float]) -> float | None:
    """Return KL(recorded ‖ now) in nats over the tokens listed in both, the remaining mass as one outcome.

    Merging outcomes never increases the divergence (data-processing inequality), so this is a lower bound
    for the full distributions. None if no token is listed in both.

    Kullback, Leibler (1951), "On information and sufficiency".
    """
    both = sorted(recorded.keys() & now.keys())
    if not both:
        return None
    first, second = (_with_remaining([logprobs[name] for name in both]) for logprobs in (recorded, now))
    return max(fsum(exp(own) * (own - other) for own, other in zip(first, second, strict=True)), 0.0)


def _with_remaining(logprobs: list[float]) -> list[float]:
    """Normalise logprobs to a full distribution; the last entry is the remaining mass."""
    masses = [exp(min(logprob, 0.0)) for logprob in logprobs]
    remaining = max(1 - fsum(masses), _LEAST)
    whole = log(fsum([*masses, remaining]))
    return [min(logprob, 0.0) - whole for logprob in logprobs] + [log(remaining) - whole]


class Position(NamedTuple):
    """A comparison of two distributions after the same text; unknown figures are None."""

    same_top: bool | None
    """Whether the most likely token is the same."""
    overlap: float | None
    """The fraction of the k most likely tokens that both share, for the largest k that both list."""
    logprob_difference: float | None
    """|Δlogprob| of the recorded token, in nats."""
    divergence: float | None
    """A lower bound on KL(recorded ‖ now), in nats."""


def compare_position(recorded: ReceivedToken, now: ReceivedToken) -> Position:
    """Compare the distributions at two tokens that follow the same text."""
    is_known = recorded.logprob is not None and isfinite(recorded.logprob)
    if is_known and recorded.alternatives and recorded._replace(id=None) == now._replace(id=None):
        return Position(True, 1.0, 0.0, 0.0)
    first, second = listed(recorded), listed(now)
    own = token_bytes(recorded.text, recorded.raw)
    difference = abs(second[own] - first[own]) if own in first and own in second else None
    if not (recorded.alternatives and now.alternatives and first and second):
        return Position(None, None, difference, None)
    ranked, ranked_now = (sorted(logprobs, key=lambda name: -logprobs[name]) for logprobs in (first, second))
    k = min(len(first), len(second))
    return Position(
        first[ranked[0]] == first.get(ranked_now[0]) or ranked[0] == ranked_now[0],
        len(set(ranked[:k]) & set(ranked_now[:k])) / k,
        difference,
        divergence(first, second),
    )


@dataclass(frozen=True, slots=True)
class Sum:
    """The count, sum and maximum of some numbers."""

    count: int = 0
    total: float = 0.0
    largest: float = 0.0

    @staticmethod
    def of(values: Iterable[float | None]) -> Sum:
        """Summarise the values that are not None."""
        known = [float(value) for value in values if value is not None]
        return Sum(len(known), sum(known), max(known, default=0.0))

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.count + other.count, self.total + other.total, max(self.largest, other.largest))

    @property
    def mean(self) -> float | None:
        """The mean; None without numbers."""
        return self.total / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Figures summed over many positions; `+` adds two of them."""

    positions: int = 0
    """Number of compared positions (those that follow the same text in both)."""
    same_top: Sum = Sum()
    overlap: Sum = Sum()
    logprob_difference: Sum = Sum()
    divergence: Sum = Sum()

    @staticmethod
    def of(positions: Iterable[Position]) -> Agreement:
        """Sum the figures of the positions."""
        found = list(positions)
        return Agreement(len(found), *map(Sum.of, zip(*found, strict=True)))

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(Agreement))
        )


@dataclass(frozen=True, slots=True)
class Tolerances:
    """How far positions may differ; None means no limit."""

    divergence: float | None = None
    """The largest KL(recorded ‖ now) at any position, in nats."""
    logprob_difference: float | None = None
    """The largest |Δlogprob| of a recorded token, in nats."""
    same_top: float | None = None
    """The smallest fraction of positions whose most likely token is the same."""

    def exceeded(self, found: Agreement) -> tuple[str, ...]:
        """Describe each exceeded tolerance in one phrase."""
        reasons = []
        if self.divergence is not None and found.divergence.largest > self.divergence:
            reasons.append(f"KL up to {found.divergence.largest:.4g} nats (tolerance {self.divergence:g})")
        if self.logprob_difference is not None and found.logprob_difference.largest > self.logprob_difference:
            reasons.append(
                f"|Δlogprob| up to {found.logprob_difference.largest:.4g} nats "
                f"(tolerance {self.logprob_difference:g})"
            )
        mean = found.same_top.mean
        if self.same_top is not None and mean is not None and mean < self.same_top:
            reasons.append(f"top-1 agreement {mean:.1%} (tolerance {self.same_top:.1%})")
        return tuple(reasons)
