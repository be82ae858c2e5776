"""The sampling options of a request."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from workbench.domain.parameter_table import ParameterValue

_CERTAINLY = 1e9
"""A bias larger than any logit, but finite, so that a distribution remains if every token is forbidden."""
_SEEDS = 2**32 - 1
"""Number of the engine's seeds, without the one that means a random seed."""


@dataclass(frozen=True, slots=True)
class SamplerOptions:
    """Sampling options, named as in the request; the defaults are neutral."""

    temperature: float = 1
    top_k: int = 0
    top_p: float = 1
    min_p: float = 0
    frequency_penalty: float = 0
    presence_penalty: float = 0
    repetition_penalty: float = 1
    logit_bias: tuple[tuple[int, float], ...] = ()
    repeat_last_n: int = 2**15
    """Number of last tokens, including the prompt's, that the penalties consider."""
    grammar: str = ""
    dry_multiplier: float = 0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = 2**15
    xtc_probability: float = 0
    xtc_threshold: float = 0.1
    typical_p: float = 1
    top_n_sigma: float = -1
    dynatemp_range: float = 0
    dynatemp_exponent: float = 1
    mirostat: int = 0
    mirostat_tau: float = 5
    mirostat_eta: float = 0.1
    ignore_eos: bool = False

    @property
    def sees_past_tokens(self) -> bool:
        """Whether the samplers use past tokens."""
        penalties = (self.frequency_penalty, self.presence_penalty, self.repetition_penalty - 1)
        return any(penalties) or self.dry_multiplier > 0


_NAMES = frozenset(field.name for field in fields(SamplerOptions))


def read_sampling(values: Mapping[str, ParameterValue]) -> SamplerOptions:
    """Return the sampling options of a request's parameters; other parameters are ignored."""
    given: dict[str, Any] = {name: value for name, value in values.items() if name in _NAMES}
    biases = given.pop("logit_bias", {})
    return SamplerOptions(
        **given, logit_bias=tuple((int(token), _engine_bias(bias)) for token, bias in biases.items())
    )


def engine_seed(seed: int | None, candidate: int) -> int:
    """Return the engine's seed for a candidate: equal for equal seeds, and never the one that means random.

    Any integer may be a seed; the hash includes the candidate's number, so that candidates differ.
    """
    if seed is None:
        return secrets.randbelow(_SEEDS)
    digest = hashlib.sha256(f"{seed}:{candidate}".encode()).digest()
    return int.from_bytes(digest[:8], "little") % _SEEDS


def _engine_bias(bias: float) -> float:
    if abs(bias) < 100:
        return bias
    return _CERTAINLY if bias > 0 else -_CERTAINLY
