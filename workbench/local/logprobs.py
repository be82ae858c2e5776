"""Compute logprobs of the model's raw distribution from its logits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_GROUP = 64
"""Number of tokens per maximum when bounding the most likely tokens."""


class ModelDistribution:
    """The probabilities of all tokens at one position, before sampling."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        """`logits` has one entry per token of the vocabulary."""
        self._logits = logits
        highest = logits.max()
        self._normalizer = float(highest) + math.log(np.exp(logits - highest).sum(dtype=np.float64))

    def logprob(self, token: int) -> float | None:
        """Return a token's logprob in nats; None if its probability is 0."""
        value = float(self._logits[token]) - self._normalizer
        return min(0.0, value) if math.isfinite(value) else None

    def likeliest(self, count: int) -> list[int]:
        """Return the `count` most likely tokens, most likely first; equal ones in order of their ids."""
        if count < 1:
            return []
        logits = self._logits
        # The result is never below the count-th highest group maximum; sorting all tokens would be slow.
        highest = logits[: len(logits) // _GROUP * _GROUP].reshape(_GROUP, -1).max(axis=0)
        bound = np.partition(highest, -count)[-count] if count <= len(highest) else -np.inf
        tokens = np.flatnonzero(logits >= bound)
        return [int(token) for token in tokens[np.lexsort((tokens, -logits[tokens]))][:count]]
