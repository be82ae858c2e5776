"""How far two models agree about the token that follows one and the same text.

Each figure is of two distributions at one position, of which only the likeliest tokens are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from math import exp, fsum, isfinite, log
from typing import NamedTuple

from workbench.domain.choice import ReceivedToken, token_bytes

_LEAST = 1e-6
"""The least remaining mass: what rounded logprobs leave beside the listed ones is not known more finely."""


def listed(token: ReceivedToken) -> dict[bytes, float]:
    """The finite logprobs known at a token's position, its own included, by the tokens' bytes."""
    found: dict[bytes, float] = {}
    for text, logprob, raw in (
        *((alternative.text, alternative.logprob, alternative.raw) for alternative in token.alternatives),
        (token.text, token.logprob, token.raw),
    ):
        if logprob is not None and isfinite(logprob):
            name = token_bytes(text, raw)
            found[name] = max(logprob, found.get(name, logprob))
    return found


def divergence(recorded: Mapping[bytes, float], now: Mapping[bytes, float]) -> float | None:
    """KL(recorded ‖ now) in nats over the tokens listed in both, with the remaining mass as one outcome.

    Lumping outcomes together never adds divergence (the data-processing inequality), so that this is a lower
    bound of the whole distributions'. None where no token is listed in both.

    Kullback, Leibler (1951), "On information and sufficiency".
    """
    both = sorted(recorded.keys() & now.keys())
    if not both:
        return None
    first, second = (_with_remaining([logprobs[name] for name in both]) for logprobs in (recorded, now))
    return max(fsum(exp(own) * (own - other) for own, other in zip(first, second, strict=True)), 0.0)


def _with_remaining(logprobs: list[float]) -> list[float]:
    """Logprobs of a whole distribution: the listed tokens, and last all others together."""
    masses = [exp(min(logprob, 0.0)) for logprob in logprobs]
    remaining = max(1 - fsum(masses), _LEAST)
    whole = log(fsum([*masses, remaining]))
    return [min(logprob, 0.0) - whole for logprob in logprobs] + [log(remaining) - whole]


class Position(NamedTuple):
    """What two distributions after one and the same text have in common; None where it is not known."""

    same_top: bool | None
    """Whether the likeliest token is the same."""
    overlap: float | None
    """The fraction of the k likeliest tokens that both list, for the largest k that both list."""
    logprob_difference: float | None
    """|Δlogprob| of the recorded token, in nats."""
    divergence: float | None
    """A lower bound of KL(recorded ‖ now), in nats."""


def compare_position(recorded: ReceivedToken, now: ReceivedToken) -> Position:
    """Compare the distributions at two tokens that follow the same text."""
    is_known = recorded.logprob is not None and isfinite(recorded.logprob)
    if is_known and recorded.alternatives and _distribution(recorded) == _distribution(now):
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


def _distribution(token: ReceivedToken) -> tuple[object, ...]:
    return token.text, token.raw, token.logprob, token.alternatives


@dataclass(frozen=True, slots=True)
class Sum:
    """Numbers added up, and the largest of them."""

    count: int = 0
    total: float = 0.0
    largest: float = 0.0

    @staticmethod
    def of(values: Iterable[float | None]) -> Sum:
        """The numbers among some values."""
        known = [float(value) for value in values if value is not None]
        return Sum(len(known), sum(known), max(known, default=0.0))

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.count + other.count, self.total + other.total, max(self.largest, other.largest))

    @property
    def mean(self) -> float | None:
        """The mean; None of nothing."""
        return self.total / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class Agreement:
    """The figures of many positions; add them up with `+`."""

    positions: int = 0
    """Positions that follow the same text in both."""
    same_top: Sum = Sum()
    overlap: Sum = Sum()
    logprob_difference: Sum = Sum()
    divergence: Sum = Sum()

    @staticmethod
    def of(positions: Iterable[Position]) -> Agreement:
        """The figures of some positions."""
        found = list(positions)
        return Agreement(len(found), *map(Sum.of, zip(*found, strict=True)))

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(Agreement))
        )


@dataclass(frozen=True, slots=True)
class Tolerances:
    """How far positions may differ; None is any."""

    divergence: float | None = None
    """The largest KL(recorded ‖ now) at any position, in nats."""
    logprob_difference: float | None = None
    """The largest |Δlogprob| of a recorded token, in nats."""
    same_top: float | None = None
    """The least fraction of positions whose likeliest token is the same."""

    def exceeded(self, found: Agreement) -> tuple[str, ...]:
        """What is out of tolerance, each as one phrase for a person."""
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
