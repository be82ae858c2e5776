"""How tokens are chosen: every field of a request that matters for it, unset neutral."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from workbench.domain.parameters import ParameterValue

_CERTAINLY = 1e9
"""A bias that no logit outweighs, finite so that forbidding every token still leaves a distribution."""
_SEEDS = 2**32 - 1
"""How many seeds the engine has beside the one that means a random seed to it."""


@dataclass(frozen=True, slots=True)
class SamplerOptions:
    """How one request's tokens are chosen; names as in the request."""

    temperature: float = 1
    top_k: int = 0
    top_p: float = 1
    min_p: float = 0
    frequency_penalty: float = 0
    presence_penalty: float = 0
    repetition_penalty: float = 1
    logit_bias: tuple[tuple[int, float], ...] = ()
    repeat_last_n: int = 2**15
    """How many of the last tokens count for the penalties, those of the prompt included."""
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
        """Whether a choice depends on the tokens before it other than through the model."""
        penalties = (self.frequency_penalty, self.presence_penalty, self.repetition_penalty - 1)
        return any(penalties) or self.dry_multiplier > 0


_NAMES = frozenset(field.name for field in fields(SamplerOptions))


def read_sampling(values: Mapping[str, ParameterValue]) -> SamplerOptions:
    """Return what a request's parameters say about sampling; all other parameters are left aside."""
    given: dict[str, Any] = {name: value for name, value in values.items() if name in _NAMES}
    biases = given.pop("logit_bias", {})
    return SamplerOptions(
        **given, logit_bias=tuple((int(token), _engine_bias(bias)) for token, bias in biases.items())
    )


def engine_seed(seed: int | None, candidate: int) -> int:
    """Return the engine's seed for one candidate: the same for the same seed, never its random value.

    Any integer may be a seed; the candidate's number goes into the hash, so that candidates differ.
    """
    if seed is None:
        return secrets.randbelow(_SEEDS)
    digest = hashlib.sha256(f"{seed}:{candidate}".encode()).digest()
    return int.from_bytes(digest[:8], "little") % _SEEDS


def _engine_bias(bias: float) -> float:
    if abs(bias) < 100:
        return bias
    return _CERTAINLY if bias > 0 else -_CERTAINLY
