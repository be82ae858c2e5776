"""The colour modes: the surprise level of a token in each.

Logprobs, surprisals and entropies are in nats.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from math import exp, inf, isnan, log
from typing import NamedTuple

from workbench.domain.choice import Choice
from workbench.domain.figures import entropy
from workbench.domain.parameter_values import format_value
from workbench.domain.parameters import Parameters
from workbench.domain.scoring import SecondScoring


class Scale(NamedTuple):
    """The boundaries of the five surprise levels."""

    edges: tuple[float, float, float, float]
    """The largest surprisals, in nats, of levels 0 to 3."""
    fitted_to: str = ""
    """The parameters the scale is fitted to; empty for the fixed scale."""


FIXED = Scale((-log(0.9), -log(0.6), -log(0.3), -log(0.1)))
"""Probabilities .90, .60, .30 and .10."""


def fitted(parameters: Parameters) -> Scale:
    """Return the scale for sampling parameters: higher temperatures make surprising tokens more common.

    At temperature 1 without other samplers, 70 % of a small model's tokens have a probability below .30, and
    half below .10. The edges of the fixed scale are multiplied by 1 + 2 T², or 1 + T² if `top_p`, `top_k` or
    `min_p` cuts off the tail, so that about a tenth of a text reaches the last level, from temperature 0 to
    1.2 (measured on SmolLM2-135M).
    """
    given = parameters.get("temperature")
    temperature = float(given) if isinstance(given, int | float) else 1.0
    cut = [name for name in ("top_p", "top_k", "min_p") if parameters.get(name) not in (None, 1, 0)]
    growth = 1 + 2 * temperature * temperature * (0.5 if cut else 1.0)
    low, middle, high, last = FIXED.edges
    fitted_to = " ".join(
        [f"temperature {temperature:g}", *(f"{name} {format_value(parameters.get(name))}" for name in cut)]
    )
    return Scale((low * growth, middle * growth, high * growth, last * growth), fitted_to)


def widest(scales: Iterable[Scale]) -> Scale:
    """Return the scale with the largest edges, to share between answers shown side by side."""
    return max(scales, key=lambda scale: scale.edges[-1], default=FIXED)


class Mode(StrEnum):
    """The quantity that colours a token."""

    FITTED = "fitted"
    """Probability, on a scale fitted to the run's parameters."""
    CONTINUOUS = "continuous"
    """Probability on the fitted scale, in continuous shades."""
    PROBABILITY = "probability"
    """Probability, on a fixed scale for all runs."""
    SURPRISAL = "surprisal"
    ENTROPY = "entropy"
    RANK = "rank"
    DIFFERENCE = "difference"
    """Surprisal difference to another model; only with a second scoring."""
    OFF = "off"

    def next(self, *, is_scored_twice: bool = False) -> Mode:
        """Return the next mode, cyclically."""
        modes = [mode for mode in Mode if is_scored_twice or mode is not Mode.DIFFERENCE]
        return modes[(modes.index(self) + 1) % len(modes)]


_SURPRISALS = (0.5, 1.0, 2.0, 4.0)
_ENTROPIES = (0.25, 0.75, 1.5, 2.5)
_RANKS = (1, 2, 3, 5)
_DIFFERENCES = (0.5, 2.0)
"""Nats; probability ratios of about 1.6 and 7.4."""
_ROUNDING = 1e-9

_LEGENDS: dict[Mode, tuple[str, str, str, str, str]] = {
    Mode.SURPRISAL: ("≤0.5 nat", "1", "2", "4", ">4"),
    # An entropy over k alternatives is a lower bound.
    Mode.ENTROPY: ("≥0 nat", "≥0.25", "≥0.75", "≥1.5", "≥2.5"),
    Mode.RANK: ("1st", "2nd", "3rd", "4–5", ">5 or unlisted"),
    Mode.DIFFERENCE: ("own >2", "own >0.5", "within 0.5", "other >0.5", "other >2"),
    Mode.OFF: ("", "", "", "", ""),
}


def legend(mode: Mode, scale: Scale = FIXED) -> tuple[str, str, str, str, str]:
    """Return the labels of the five levels, from expected to surprising; empty for no colour.

    For a difference, from tokens that surprise the own model more to those surprising the other one more.
    """
    if mode in _LEGENDS:
        return _LEGENDS[mode]
    first, second, third, last = (_percent(edge) for edge in scale_of(mode, scale).edges)
    return f"≥{first}", second, third, last, f"<{last}"


def _percent(surprisal: float) -> str:
    percentage = exp(-surprisal) * 100
    return f"{percentage:.0f}%" if percentage >= 10 else f"{percentage:.1g}%"


def scale_of(mode: Mode, scale: Scale) -> Scale:
    """Return the scale of a probability mode; `scale` is the one fitted to the run."""
    return FIXED if mode is Mode.PROBABILITY else scale


def shade(choice: Choice, index: int, scale: Scale) -> float | None:
    """Return a token's surprise from 0 (certain) to 1 (at least the last edge); None without a logprob."""
    surprisal = -choice.logprobs[index]
    return None if isnan(surprisal) else min(max(surprisal, 0.0) / scale.edges[-1], 1.0)


def level(
    choice: Choice, index: int, mode: Mode, scale: Scale = FIXED, second: SecondScoring | None = None
) -> int | None:
    """Return a token's level from 0 (expected) to 4 (surprising); None if the mode's figure is unknown.

    `scale` is fitted to the run's parameters; `second` is another model's scoring, of this choice or of a
    different one.
    """
    match mode:
        case Mode.FITTED | Mode.CONTINUOUS | Mode.PROBABILITY:
            return _level(-choice.logprobs[index], scale_of(mode, scale).edges)
        case Mode.SURPRISAL:
            return _level(-choice.logprobs[index], _SURPRISALS)
        case Mode.ENTROPY:
            return _level(entropy(choice.alternative_logprobs_of(index), choice.listed_top), _ENTROPIES)
        case Mode.RANK:
            rank = choice.rank_of(index)
            return _level(rank and (rank.value if rank.is_exact else inf), _RANKS)
        case Mode.DIFFERENCE:
            return None if second is None else difference_level(second.difference(choice, index))
        case Mode.OFF:
            return None


def difference_level(nats: float | None) -> int | None:
    """Return the level of a surprisal difference, 2 for about none; None if it is unknown.

    Below 2 the run's own model is more surprised, above 2 the other model.
    """
    if nats is None or isnan(nats):
        return None
    size = sum(abs(nats) > edge + _ROUNDING for edge in _DIFFERENCES)
    return 2 + size if nats > 0 else 2 - size


def _level(value: float | None, edges: tuple[float, float, float, float]) -> int | None:
    if value is None or isnan(value):
        return None
    for index, edge in enumerate(edges):
        if value <= edge + _ROUNDING:
            return index
    return len(edges)
