"""Logprobs of the model's own distribution, read from its logits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


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
        if count == 1:
            return [int(self._logits.argmax())]
        count = min(count, len(self._logits))
        if count < 1:
            return []
        tokens = np.argpartition(self._logits, -count)[-count:]
        return [int(token) for token in tokens[np.lexsort((tokens, -self._logits[tokens]))]]
