"""How a token reads: its level of surprise in each colour mode, and where the next notable token is.

Logprobs, surprisals and entropies are in nats.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from math import isnan, log

from workbench.domain.choice import Choice
from workbench.domain.figures import coverage, entropy

SURPRISING = -log(0.1)
"""The surprisal from which on a token is surprising, unless the user says otherwise: probability .10."""
LOW_COVERAGE = 0.5
"""The coverage below which the listed alternatives say little of the distribution."""


class Mode(StrEnum):
    """What the colour of a token tells."""

    PROBABILITY = "probability"
    SURPRISAL = "surprisal"
    ENTROPY = "entropy"
    RANK = "rank"
    OFF = "off"


_PROBABILITIES = (-log(0.9), -log(0.6), -log(0.3), -log(0.1))
_SURPRISALS = (0.5, 1.0, 2.0, 4.0)
_ENTROPIES = (0.25, 0.75, 1.5, 2.5)
_RANKS = (1, 2, 3, 5)
_ROUNDING = 1e-9

_LEGENDS: dict[Mode, tuple[str, str, str, str, str]] = {
    Mode.PROBABILITY: ("≥90%", "60%", "30%", "10%", "<10%"),
    Mode.SURPRISAL: ("≤0.5 nat", "1", "2", "4", ">4"),
    Mode.ENTROPY: ("≤0.25 nat", "0.75", "1.5", "2.5", ">2.5"),
    Mode.RANK: ("1st", "2nd", "3rd", "4–5", ">5 or unlisted"),
    Mode.OFF: ("", "", "", "", ""),
}


def legend(mode: Mode) -> tuple[str, str, str, str, str]:
    """What each of the five levels stands for, from expected to surprising; empty words for no colour."""
    return _LEGENDS[mode]


def level(choice: Choice, index: int, mode: Mode) -> int | None:
    """A token's level from 0 (expected) to 4 (surprising); None where the mode has nothing to tell."""
    match mode:
        case Mode.PROBABILITY:
            return _level(-choice.logprobs[index], _PROBABILITIES)
        case Mode.SURPRISAL:
            return _level(-choice.logprobs[index], _SURPRISALS)
        case Mode.ENTROPY:
            return _level(entropy(choice.alternative_logprobs_of(index), choice.listed_top), _ENTROPIES)
        case Mode.RANK:
            rank = choice.rank_of(index)
            return (
                len(_RANKS) if rank is not None and not rank.is_exact else _level(rank and rank.value, _RANKS)
            )
        case Mode.OFF:
            return None


def _level(value: float | None, edges: tuple[float, float, float, float]) -> int | None:
    if value is None or isnan(value):
        return None
    for place, edge in enumerate(edges):
        if value <= edge + _ROUNDING:
            return place
    return len(edges)


def next_surprising(
    choice: Choice, position: int, step: int = 1, threshold: float = SURPRISING
) -> int | None:
    """The next token (step 1) or the previous one (-1) whose surprisal is above `threshold` nats."""
    logprobs, edge = choice.logprobs, -threshold
    return _seek(choice, position, step, lambda index: logprobs[index] < edge)


def next_not_first(choice: Choice, position: int, step: int = 1) -> int | None:
    """The next or previous token that was not the model's first choice."""

    def is_not_first(index: int) -> bool:
        rank = choice.rank_of(index)
        return rank is not None and rank.value > 1

    return _seek(choice, position, step, is_not_first)


def next_low_coverage(
    choice: Choice, position: int, step: int = 1, threshold: float = LOW_COVERAGE
) -> int | None:
    """The next or previous token whose listed alternatives sum to a probability below `threshold`."""

    def is_low(index: int) -> bool:
        covered = coverage(choice.alternative_logprobs_of(index))
        return covered is not None and covered < threshold

    return _seek(choice, position, step, is_low)


def _seek(choice: Choice, position: int, step: int, wanted: Callable[[int], bool]) -> int | None:
    stop = len(choice) if step > 0 else -1
    return next((index for index in range(position + step, stop, step) if wanted(index)), None)
