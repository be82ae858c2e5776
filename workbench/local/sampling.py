"""From a request's parameters to the engine's body: every field mapped, unset neutral."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from workbench.domain.json_values import JsonValue
from workbench.domain.request import Parameters

_CERTAINLY = 1e9
"""A bias that no logit outweighs, finite so that forbidding every token still leaves a distribution."""
_LONG_PROMPT = 128
"""Tokens from which on a prompt evaluated before is taken from the cache: seconds matter more there than
that a prompt evaluated in other batches may differ in the last bits of a logprob."""
_RANDOM_SEED = 2**32 - 1
"""The engine's word for a seed of its own choice."""
_NEUTRAL: Mapping[str, float] = MappingProxyType(
    {
        "temperature": 1.0,
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
    }
)


def engine_body(
    prompt: Sequence[int], parameters: Parameters, seed: int, n_probs: int
) -> dict[str, JsonValue]:
    """What the engine is asked for one choice. Stop texts are not passed down: we find them ourselves."""
    body: dict[str, JsonValue] = {name: parameters.number(name, value) for name, value in _NEUTRAL.items()}
    body |= {
        "prompt": list(prompt),
        "max_tokens": int(parameters.number("max_tokens", 16)),
        "repeat_penalty": parameters.number("repetition_penalty", 1.0),
        # The contract counts prompt and answer; the engine would look at the last 64 tokens only.
        "repeat_last_n": len(prompt) + int(parameters.number("max_tokens", 16)),
        "seed": seed,
        "n_probs": n_probs,
        "stream": True,
        # Events while the prompt is evaluated are the only moments at which the engine can be stopped then.
        "return_progress": True,
        "timings_per_token": True,
        "cache_prompt": len(prompt) > _LONG_PROMPT,
    }
    biases = parameters.get("logit_bias")
    if biases is not None and not isinstance(biases, (bool, int, float, str, tuple)):
        body["logit_bias"] = [[int(key), _engine_bias(bias)] for key, bias in biases.items()]
    return {**body, **parameters.extra}


def engine_seed(seed: int | None, candidate: int) -> int:
    """The engine's seed for one candidate: the same for the same seed, never its random value.

    Any integer may be a seed; the candidate's number goes into the hash, so that candidates differ.
    """
    if seed is None:
        return secrets.randbelow(_RANDOM_SEED)
    digest = hashlib.sha256(f"{seed}:{candidate}".encode()).digest()
    return int.from_bytes(digest[:8], "little") % _RANDOM_SEED


def _engine_bias(bias: float) -> float:
    if abs(bias) < 100:
        return bias
    return _CERTAINLY if bias > 0 else -_CERTAINLY
