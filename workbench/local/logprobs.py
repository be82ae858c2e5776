"""Logprobs of the model's own distribution, read from its logits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_GROUP = 64
"""How many tokens share one entry of the maxima that bound the likeliest tokens."""


class ModelDistribution:
    """The probabilities of all tokens in one place, before any sampling."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        """`logits` has one entry for each token of the vocabulary."""
        self._logits = logits
        highest = logits.max()
        self._normalizer = float(highest) + math.log(np.exp(logits - highest).sum(dtype=np.float64))

    def logprob(self, token: int) -> float | None:
        """Return a token's logprob in nats; None where the model rules it out."""
        value = float(self._logits[token]) - self._normalizer
        return min(0.0, value) if math.isfinite(value) else None

    def likeliest(self, count: int) -> list[int]:
        """Return the likeliest tokens, likeliest first, of equals the one with the smaller id."""
        if count < 1:
            return []
        logits = self._logits
        # None of them is below the count-th highest maximum of a group; sorting all would take long.
        highest = logits[: len(logits) // _GROUP * _GROUP].reshape(_GROUP, -1).max(axis=0)
        bound = np.partition(highest, -count)[-count] if count <= len(highest) else -np.inf
        tokens = np.flatnonzero(logits >= bound)
        return [int(token) for token in tokens[np.lexsort((tokens, -logits[tokens]))][:count]]
